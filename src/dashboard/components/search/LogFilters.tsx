import { useEffect, useState } from "preact/hooks"
import type { Answer } from "../../api/routes.ts"
import { place, setQuery } from "../../app/router.ts"
import { fieldsOf } from "../../app/useForm.ts"
import { isOpen } from "../../bounds.ts"
import { formatRelative } from "../../format.ts"
import { allTargets } from "../../search/draft.ts"
import { outcomes } from "../ui/Badge.tsx"
import { Button } from "../ui/Button.tsx"
import { Field, SelectField } from "../ui/Field.tsx"

type Key = Answer<"GET /v1/api-keys">["api_keys"][number]

/** Filters of the log. The URL uses the parameter names of the API. */
export const filterNames = ["text", "target", "status", "key", "batch", "source", "from", "to"] as const

const rareNames = ["batch", "source", "from", "to"]

export interface LogFiltersProps {
  readonly keys: ReadonlyArray<Key>
  readonly issues: Readonly<Record<string, string>>
}

/** Converts a time to the value of a `datetime-local` field, which is in local time and has no seconds. */
const toControl = (iso: string | null): string => {
  const at = Date.parse(iso ?? "")
  if (Number.isNaN(at)) return ""
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}

const fromControl = (text: string): string => {
  const at = Date.parse(text)
  return Number.isNaN(at) ? "" : new Date(at).toISOString()
}

const apply = (form: HTMLFormElement): void => {
  const fields = fieldsOf(form)
  const { query } = place.peek()
  const given = (name: string) => query.get(name) ?? ""
  const changes = Object.fromEntries(
    filterNames.map((name) => {
      const text = (fields[name] ?? "").trim()
      if (name !== "from" && name !== "to") return [name, text]
      return [name, text === toControl(given(name)) ? given(name) : fromControl(text)]
    })
  )
  if (filterNames.every((name) => changes[name] === given(name))) return
  setQuery({ ...changes, cursor: undefined }, { replace: false })
}

/** A rotated secret works until its grace period ends (R51). */
const stateOf = (key: Key): string => {
  if (key.revoked_at === null) return ""
  return isOpen(key) ? `, old secret, stops working ${formatRelative(key.revoked_at)}` : ", revoked"
}

const nameOf = (key: Key): string => `${key.name} (${key.hint})${stateOf(key)}`

const options = (allText: string, known: ReadonlyArray<readonly [value: string, text: string]>, value: string) => [
  { value: "", text: allText },
  ...known.map(([value, text]) => ({ value, text })),
  ...(value === "" || known.some(([known]) => known === value) ? [] : [{ value, text: value }])
]

interface TextField {
  readonly name: string
  readonly value: string
  readonly error: string | undefined
  readonly onInput: (text: string) => void
}

/** Text fields keep typed text while entries or keys load. */
const useFields = (issues: LogFiltersProps["issues"]) => {
  const { query } = place.value
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  useEffect(() => setTyped({}), [query])
  const value = (name: string): string => query.get(name) ?? ""
  const field = (name: string, present: string): TextField => ({
    name,
    value: typed[name] ?? present,
    error: issues[name],
    onInput: (text) => setTyped((typed) => ({ ...typed, [name]: text }))
  })
  return {
    value,
    text: (name: string) => field(name, value(name)),
    moment: (name: string) => field(name, toControl(value(name)))
  }
}

const RareFilters = ({ moment, text, value }: ReturnType<typeof useFields>) => (
  <details class="more" open={rareNames.some((name) => value(name) !== "")}>
    <summary>Time, batch, and source</summary>
    <div class="options">
      <Field {...moment("from")} label="From (local time)" type="datetime-local" />
      <Field {...moment("to")} label="Before (local time)" type="datetime-local" />
      <Field {...text("batch")} label="Batch" input={{ placeholder: "bat_…" }} />
      <Field {...text("source")} label="Source" input={{ placeholder: "api" }} />
    </div>
  </details>
)

export const LogFilters = ({ issues, keys }: LogFiltersProps) => {
  const fields = useFields(issues)
  const { value } = fields
  const select = (name: "target" | "status" | "key") => ({ name, value: value(name), error: issues[name] })
  return (
    <search aria-label="Filter the log">
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          apply(event.currentTarget)
        }}
        onChange={(event) => apply(event.currentTarget)}
      >
        <div class="options">
          <Field
            {...fields.text("text")}
            label="Query contains"
            type="search"
            input={{ autocomplete: "off", dir: "auto", maxLength: 400 }}
          />
          <SelectField
            {...select("target")}
            label="Target"
            options={options(
              "All targets",
              allTargets.map((name) => [name, name]),
              value("target")
            )}
          />
          <SelectField
            {...select("status")}
            label="Outcome"
            options={options(
              "All outcomes",
              Object.entries(outcomes).map(([name, { text }]) => [name, text]),
              value("status")
            )}
          />
          <SelectField
            {...select("key")}
            label="Key"
            options={options(
              "All keys and sessions",
              keys.map((key) => [key.id, nameOf(key)]),
              value("key")
            )}
          />
        </div>
        <RareFilters {...fields} />
        <div class="actions">
          <Button type="submit">Filter</Button>
          {filterNames.some((name) => value(name) !== "") && (
            <a class="button quiet" href={place.value.path}>
              Clear
            </a>
          )}
        </div>
      </form>
    </search>
  )
}
