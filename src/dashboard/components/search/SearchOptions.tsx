import { useEffect, useState } from "preact/hooks"
import { type Draft, hasOptions, optionNames } from "../../search/draft.ts"
import { Field, SelectField } from "../ui/Field.tsx"

export interface DraftFieldsProps {
  readonly draft: Draft
  readonly issues: Readonly<Record<string, string>>
  readonly onChange: (draft: Draft) => void
}

const periods = [
  { value: "", text: "Any time" },
  { value: "day", text: "Last 24 hours" },
  { value: "week", text: "Last 7 days" },
  { value: "month", text: "Last 31 days" },
  { value: "year", text: "Last 366 days" }
]

const topics = [
  { value: "web", text: "Web" },
  { value: "news", text: "News" }
]

const domainInput = { autocomplete: "off", spellcheck: false, placeholder: "example.org, docs.example.org/guide" }

/** A period excludes dates, so choosing one clears the other. */
export const SearchOptions = ({ draft, issues, onChange }: DraftFieldsProps) => {
  const field = (name: (typeof optionNames)[number], cleared: Partial<Draft> = {}) => ({
    name,
    value: draft[name],
    error: issues[name],
    onInput: (value: string) => onChange({ ...draft, ...cleared, [name]: value })
  })
  const select = (name: "freshness" | "topic", options: typeof periods, cleared: Partial<Draft> = {}) => {
    const { onInput, ...shared } = field(name, cleared)
    return { ...shared, options, onChange: onInput }
  }
  // An option in use opens the section. Clearing the option must not close the section again.
  const isUsed = hasOptions(draft) || optionNames.some((name) => issues[name] !== undefined)
  const [isOpen, setOpen] = useState(isUsed)
  useEffect(() => {
    if (isUsed) setOpen(true)
  }, [isUsed])
  return (
    <details class="more" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Time, domains, and topic</summary>
      <div class="options times">
        <SelectField {...select("freshness", periods, { after: "", before: "" })} label="Published" />
        <Field {...field("after", { freshness: "" })} label="From day (UTC)" type="date" />
        <Field {...field("before", { freshness: "" })} label="To day (UTC)" type="date" />
        <SelectField {...select("topic", topics)} label="Topic" />
      </div>
      <div class="options domains">
        <Field {...field("include_domains")} label="Only these domains" input={domainInput} />
        <Field {...field("exclude_domains")} label="Not these domains" input={domainInput} />
      </div>
      <p class="soft">
        Not every provider supports each option. A target without such a provider refuses the search, and nothing is
        charged.
      </p>
    </details>
  )
}
