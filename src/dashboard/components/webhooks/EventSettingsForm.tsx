import { useState } from "preact/hooks"
import { call } from "../../api/client.ts"
import type { Answer } from "../../api/routes.ts"
import { useForm } from "../../app/useForm.ts"
import { Button } from "../ui/Button.tsx"
import { Field } from "../ui/Field.tsx"
import { Notice } from "../ui/Notice.tsx"
import { announce } from "../ui/Toast.tsx"
import { EventChoice } from "./EventChoice.tsx"

const numbersIn = (text: string): ReadonlyArray<number> =>
  text
    .split(/[\s,;%]+/)
    .filter((part) => part !== "")
    .map(Number)

export const EventSettingsForm = (settings: Answer<"GET /v1/webhooks/settings">) => {
  const { busy, error, run } = useForm()
  const [emailEvents, setEmailEvents] = useState(settings.email_events)
  const [percents, setPercents] = useState(settings.low_percents.join(", "))
  const [balance, setBalance] = useState(settings.low_balance === null ? "" : String(settings.low_balance))
  const issues = error?.issues ?? {}
  const save = (): void =>
    run(
      () => {
        const body = {
          low_percents: numbersIn(percents),
          low_balance: balance.trim() === "" ? null : Number(balance),
          email_events: emailEvents
        }
        return call("PATCH /v1/webhooks/settings", { body })
      },
      () => announce("Saved.")
    )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      {error && Object.keys(issues).length === 0 && <Notice text={error.message} />}
      <Field
        label="Quota thresholds (percent)"
        name="low_percents"
        hint="credits.low is sent once per period when usage reaches each threshold, such as 80, 95."
        error={issues.low_percents}
        value={percents}
        onInput={setPercents}
        input={{ autocomplete: "off" }}
      />
      <Field
        label="Pack credits threshold"
        name="low_balance"
        type="number"
        hint="credits.low is sent once when the pack balance drops below this number. Leave empty to turn it off."
        error={issues.low_balance}
        value={balance}
        onInput={setBalance}
        input={{ min: 1 }}
      />
      {settings.emails_available ? (
        <EventChoice legend="Emails" value={emailEvents} onChange={setEmailEvents} />
      ) : (
        <p class="hint">Events cannot be emailed because this deployment has no mail server.</p>
      )}
      <div class="actions">
        <Button kind="primary" type="submit" busy={busy}>
          Save
        </Button>
      </div>
    </form>
  )
}
