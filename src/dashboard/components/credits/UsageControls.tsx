import { useState } from "preact/hooks"
import type { Key, Usage } from "../../api/routes.ts"
import { setQuery } from "../../app/router.ts"
import { submitting } from "../../app/useForm.ts"
import { presets, toField, type View } from "../../credits/usageFigures.ts"
import { Button } from "../ui/Button.tsx"
import { Field, SelectField } from "../ui/Field.tsx"

const presetNames = {
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
  "90d": "90 days",
  "12m": "12 months"
} as const

const granularities = [
  { value: "hour", text: "Hour" },
  { value: "day", text: "Day" },
  { value: "month", text: "Month" }
] as const

const groupings = [
  { value: "outcome", text: "Outcome" },
  { value: "kind", text: "Kind" },
  { value: "target", text: "Target" },
  { value: "key", text: "Key" },
  { value: "member", text: "Member" }
]

export interface UsageControlsProps {
  readonly view: View
  readonly shown: Pick<Usage, "from" | "to"> | undefined
  readonly keys: ReadonlyArray<Key>
  readonly isTrial: boolean
  readonly issues: Readonly<Record<string, string>>
}

const CustomRange = ({ issues, view }: Pick<UsageControlsProps, "issues" | "view">) => {
  const [range, setRange] = useState({ from: view.from, to: view.to })
  const field = (name: "from" | "to") => ({
    name,
    type: "datetime-local" as const,
    value: range[name],
    onInput: (moment: string) => setRange({ ...range, [name]: moment }),
    input: { required: true, max: "9999-12-31T00:00" }
  })
  const startIssue = issues.from?.replace("before to", "before the end")
  return (
    <form class="controls" aria-label="Custom range" onSubmit={submitting(() => setQuery(range, {}))}>
      <Field {...field("from")} label="From (UTC)" error={startIssue && `The start ${startIssue}.`} />
      <Field {...field("to")} label="Until (UTC)" error={issues.to && `The end ${issues.to}.`} />
      <Button type="submit">Show</Button>
    </form>
  )
}

const chooseRange = (range: string, shown: UsageControlsProps["shown"]): void => {
  const own = range === "own" && shown
  setQuery(
    {
      range: range === "default" ? undefined : range,
      granularity: undefined,
      from: own ? toField(shown.from) : undefined,
      to: own ? toField(shown.to) : undefined
    },
    {}
  )
}

export const UsageControls = ({ isTrial, issues, keys, shown, view }: UsageControlsProps) => {
  const offered = presets.filter((preset) => !isTrial || preset !== "30d" || view.range === "30d")
  return (
    <div class="stack">
      <div class="controls">
        <SelectField
          label="Range"
          name="range"
          value={view.range}
          options={[
            { value: "default", text: isTrial ? "30 days" : "This period" },
            ...offered.map((value) => ({ value, text: presetNames[value] })),
            { value: "own", text: "Custom range" }
          ]}
          onChange={(range) => chooseRange(range, shown)}
        />
        <SelectField
          label="Interval"
          name="granularity"
          value={view.granularity}
          options={granularities.map((option) => ({
            ...option,
            disabled: option.value === "hour" && !view.allowsHours
          }))}
          onChange={(granularity) => setQuery({ granularity }, {})}
        />
        <SelectField
          label="Split by"
          name="group_by"
          value={view.groupBy}
          options={groupings}
          onChange={(by) => setQuery({ group_by: by === "outcome" ? undefined : by, key: undefined }, {})}
        />
        {view.groupBy === "key" && (
          <SelectField
            label="Key"
            name="key"
            value={view.only ?? ""}
            options={[
              { value: "", text: "All keys" },
              ...keys.map(({ hint, id, name }) => ({ value: id, text: `${name} (${hint.slice(-4)})` }))
            ]}
            onChange={(key) => setQuery({ key: key || undefined }, {})}
          />
        )}
      </div>
      {view.range === "own" && <CustomRange key={`${view.from} ${view.to}`} view={view} issues={issues} />}
    </div>
  )
}
