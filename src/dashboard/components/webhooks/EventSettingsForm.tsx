import { useState } from "preact/hooks"
import { call } from "../../api/client.ts"
import type { Answer } from "../../api/routes.ts"
import { useForm } from "../../app/useForm.ts"
import { Button } from "../ui/Button.tsx"
import { Field } from "../ui/Field.tsx"
import { Notice } from "../ui/Notice.tsx"
import { announce } from "../ui/Toast.tsx"
import { EventChoice } from "./EventChoice.tsx"

type SettingsBody = Pick<Answer<"GET /v1/webhooks/settings">, "email_events" | "low_balance" | "low_percents">

const numbersIn = (text: string): ReadonlyArray<number> =>
  text
    .split(/[\s,;%]+/)
    .filter((part) => part !== "")
    .map(Number)

const useSettings = (settings: SettingsBody) => {
  const { busy, error, run } = useForm()
  const [emailEvents, setEmailEvents] = useState(settings.email_events)
  const [percents, setPercents] = useState(settings.low_percents.join(", "))
  const [balance, setBalance] = useState(settings.low_balance === null ? "" : String(settings.low_balance))
  const [saved, setSaved] = useState<SettingsBody>(settings)
  const issues = error?.issues ?? {}
  const show = ({ email_events, low_balance, low_percents }: SettingsBody): void => {
    setEmailEvents(email_events)
    setPercents(low_percents.join(", "))
    setBalance(low_balance === null ? "" : String(low_balance))
  }
  const save = (body: SettingsBody, onSaved: () => void): void =>
    run(
      () => call("PATCH /v1/webhooks/settings", { body }),
      () => {
        setSaved(body)
        onSaved()
      }
    )
  const onSubmit = (): void => {
    const body = {
      low_percents: numbersIn(percents),
      low_balance: balance.trim() === "" ? null : Number(balance),
      email_events: emailEvents
    }
    const { email_events, low_balance, low_percents } = saved
    const before = { email_events, low_balance, low_percents }
    const undo = (): void =>
      save(before, () => {
        show(before)
        announce("Undid the change.")
      })
    save(body, () => announce("Saved.", undo))
  }
  return { balance, busy, emailEvents, error, issues, onSubmit, percents, setBalance, setEmailEvents, setPercents }
}

export const EventSettingsForm = (settings: Answer<"GET /v1/webhooks/settings">) => {
  const { balance, busy, emailEvents, error, issues, onSubmit, percents, setBalance, setEmailEvents, setPercents } =
    useSettings(settings)
  return (
    <form
      class="settings"
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
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
