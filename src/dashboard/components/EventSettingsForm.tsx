import { useState } from "preact/hooks"
import { call } from "../api/client.ts"
import type { Answer } from "../api/routes.ts"
import { useForm } from "../useForm.ts"
import { Button } from "./Button.tsx"
import { EventChoice } from "./EventChoice.tsx"
import { Field } from "./Field.tsx"
import { Notice } from "./Notice.tsx"
import { announce } from "./Toast.tsx"

/** Whole numbers in a text, however they are separated. */
const numbersIn = (text: string): ReadonlyArray<number> =>
  text
    .split(/[\s,;%]+/)
    .filter((part) => part !== "")
    .map(Number)

/** The thresholds below which credits count as low, and the events that come by email. */
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
        label="Percents of the quota"
        name="low_percents"
        hint="At each, credits.low is sent once in a period. Such as: 80, 95."
        error={issues.low_percents}
        value={percents}
        onInput={setPercents}
        input={{ autocomplete: "off" }}
      />
      <Field
        label="Pack credits"
        name="low_balance"
        type="number"
        hint="Under this balance, credits.low is sent once. Empty for never."
        error={issues.low_balance}
        value={balance}
        onInput={setBalance}
        input={{ min: 1 }}
      />
      {settings.emails_available ? (
        <EventChoice legend="Emails" value={emailEvents} onChange={setEmailEvents} />
      ) : (
        <p class="hint">This deployment has no mail server: events are not emailed.</p>
      )}
      <div class="actions">
        <Button kind="primary" type="submit" busy={busy}>
          Save
        </Button>
      </div>
    </form>
  )
}
