import { useState } from "preact/hooks"
import { call, explain } from "../../api/client.ts"
import type { Answer } from "../../api/routes.ts"
import { submitting, useForm } from "../../app/useForm.ts"
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

const textOf = ({ email_events, low_balance, low_percents }: SettingsBody) => ({
  events: email_events,
  percents: low_percents.join(", "),
  balance: low_balance === null ? "" : String(low_balance)
})

const bodyOf = ({ balance, events, percents }: ReturnType<typeof textOf>): SettingsBody => ({
  low_percents: numbersIn(percents),
  low_balance: balance.trim() === "" ? null : Number(balance),
  email_events: events
})

export const EventSettingsForm = (settings: Answer<"GET /v1/webhooks/settings">) => {
  const { busy, error, run } = useForm()
  const [typed, setTyped] = useState(() => textOf(settings))
  const [saved, setSaved] = useState<SettingsBody>(settings)
  const issues = error?.issues ?? {}
  const save = (body: SettingsBody, onSaved: () => void): void =>
    run(
      () => call("PATCH /v1/webhooks/settings", { body }),
      () => {
        setSaved(body)
        onSaved()
      }
    )
  const submit = (): void => {
    const { email_events, low_balance, low_percents } = saved
    const before = { email_events, low_balance, low_percents }
    const undo = (): void =>
      save(before, () => {
        setTyped(textOf(before))
        announce("Undid the change.")
      })
    save(bodyOf(typed), () => announce("Saved.", undo))
  }
  return (
    <form class="settings" onSubmit={submitting(submit)}>
      {error && Object.keys(issues).length === 0 && <Notice text={explain(error)} />}
      <Field
        label="Quota thresholds (percent)"
        name="low_percents"
        hint="credits.low is sent once per period when usage reaches each threshold, such as 80, 95."
        error={issues.low_percents}
        value={typed.percents}
        onInput={(percents) => setTyped({ ...typed, percents })}
        input={{ autocomplete: "off" }}
      />
      <Field
        label="Pack credits threshold"
        name="low_balance"
        type="number"
        hint="credits.low is sent once when the pack balance drops below this number. Leave empty to turn it off."
        error={issues.low_balance}
        value={typed.balance}
        onInput={(balance) => setTyped({ ...typed, balance })}
        input={{ min: 1 }}
      />
      {settings.emails_available ? (
        <EventChoice legend="Emails" value={typed.events} onChange={(events) => setTyped({ ...typed, events })} />
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
