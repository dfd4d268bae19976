import { useState } from "preact/hooks"
import { type BoundsText, periodOptions } from "../bounds.ts"
import { targets } from "../draft.ts"
import { Field, SelectField } from "./Field.tsx"

interface BoundsFieldsProps {
  readonly initial: BoundsText
  /** Messages for single fields, by their dotted paths. */
  readonly issues: Readonly<Record<string, string>>
}

/** The first message for a field or for something inside of it. */
const issueOf = (issues: BoundsFieldsProps["issues"], field: string): string | undefined =>
  Object.entries(issues).find(([path]) => path === field || path.startsWith(`${field}.`))?.[1]

/** The fields of a form that bound a key. What is left empty does not bind. */
export const BoundsFields = ({ initial, issues }: BoundsFieldsProps) => {
  const [text, setText] = useState(initial)
  const change = (name: keyof BoundsText) => (value: string) => setText({ ...text, [name]: value })
  const expiresIssue = issueOf(issues, "expires_at")
  const budgetIssue = issueOf(issues, "budget")
  const networksIssue = issueOf(issues, "networks")
  return (
    <div class="stack">
      <Field
        label="Expires (your time)"
        name="expires"
        type="datetime-local"
        value={text.expires}
        onInput={change("expires")}
        error={expiresIssue && `The moment ${expiresIssue}.`}
      />
      <div class="controls">
        <Field
          label="Budget in credits"
          name="credits"
          type="number"
          value={text.credits}
          onInput={change("credits")}
          error={budgetIssue && `The budget ${budgetIssue}.`}
          input={{ min: 1, step: 1, inputMode: "numeric" }}
        />
        <SelectField
          label="Budget counts"
          name="period"
          value={text.period}
          options={periodOptions}
          onChange={change("period")}
        />
      </div>
      <Field
        label="Networks"
        name="networks"
        value={text.networks}
        onInput={change("networks")}
        hint="From where it may be used, such as 203.0.113.0/24 2001:db8::/32. Empty: from everywhere."
        error={networksIssue && `A network ${networksIssue}.`}
        input={{ autocomplete: "off", spellcheck: false }}
      />
      <fieldset class="targets">
        <legend>Targets</legend>
        <p class="hint">None chosen: all of them.</p>
        {targets.map((target) => (
          <label key={target}>
            <input type="checkbox" name="targets" value={target} defaultChecked={initial.targets.includes(target)} />
            <span>{target}</span>
          </label>
        ))}
      </fieldset>
    </div>
  )
}
