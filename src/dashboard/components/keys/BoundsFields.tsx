import { useState } from "preact/hooks"
import { type BoundsText, periodOptions } from "../../bounds.ts"
import { allTargets } from "../../search/draft.ts"
import { TargetName } from "../search/TargetName.tsx"
import { Field, SelectField } from "../ui/Field.tsx"

interface BoundsFieldsProps {
  /** Members have only targets and a monthly budget (R67). */
  readonly holder?: "key" | "member"
  readonly initial: BoundsText
  readonly issues: Readonly<Record<string, string>>
}

const issueOf = (issues: BoundsFieldsProps["issues"], field: string): string | undefined =>
  Object.entries(issues).find(([path]) => path === field || path.startsWith(`${field}.`))?.[1]

export const BoundsFields = ({ holder = "key", initial, issues }: BoundsFieldsProps) => {
  const [text, setText] = useState(initial)
  const field = (name: "expires" | "credits" | "networks") => ({
    name,
    value: text[name],
    onInput: (value: string) => setText({ ...text, [name]: value })
  })
  const expiresIssue = issueOf(issues, "expires_at")
  const budgetIssue = issueOf(issues, "budget")
  const networksIssue = issueOf(issues, "networks")
  return (
    <div class="stack">
      {holder === "key" && (
        <Field
          {...field("expires")}
          label="Expires (local time)"
          type="datetime-local"
          error={expiresIssue && `The expiry ${expiresIssue}.`}
        />
      )}
      <div class="controls">
        <Field
          {...field("credits")}
          label={holder === "key" ? "Budget in credits" : "Budget in credits each month (UTC)"}
          type="number"
          error={budgetIssue && `The budget ${budgetIssue}.`}
          input={{ min: 1, step: 1, inputMode: "numeric" }}
        />
        {holder === "key" && (
          <SelectField
            label="Budget period"
            name="period"
            value={text.period}
            options={periodOptions}
            onChange={(period) => setText({ ...text, period })}
          />
        )}
      </div>
      {holder === "key" && (
        <Field
          {...field("networks")}
          label="Networks"
          hint="Networks that may use the key, such as 203.0.113.0/24 2001:db8::/32. Leave empty to allow all."
          error={networksIssue && `A network ${networksIssue}.`}
          input={{ autocomplete: "off", spellcheck: false }}
        />
      )}
      <fieldset class="targets">
        <legend>Targets</legend>
        <p class="hint">Select none to allow all targets.</p>
        {allTargets.map((target) => (
          <label key={target}>
            <input type="checkbox" name="targets" value={target} defaultChecked={initial.targets.includes(target)} />
            <TargetName target={target} />
          </label>
        ))}
      </fieldset>
    </div>
  )
}
