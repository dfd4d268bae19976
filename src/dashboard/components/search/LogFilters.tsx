import { useEffect, useRef, useState } from "preact/hooks"
import type { Answer } from "../../api/routes.ts"
import { setZone, zone } from "../../app/preferences.ts"
import { navigate, place, setQuery } from "../../app/router.ts"
import { fieldsOf } from "../../app/useForm.ts"
import { isOpen } from "../../bounds.ts"
import { formatMoment, formatRelative } from "../../format.ts"
import { allTargets, optionNames } from "../../search/draft.ts"
import { filterNames, isFiltered, optionTexts, rangeIn, ranges } from "../../search/logView.ts"
import { outcomes } from "../ui/Badge.tsx"
import { Choice } from "../ui/Choice.tsx"
import { Field, SelectField } from "../ui/Field.tsx"
import { Icon } from "../ui/Icon.tsx"
import { announce } from "../ui/Toast.tsx"
import { targetText } from "./TargetName.tsx"

type Key = Answer<"GET /v1/api-keys">["api_keys"][number]

export interface LogFiltersProps {
  readonly keys: ReadonlyArray<Key>
  readonly issues: Readonly<Record<string, string>>
}

/** Filters apply after this pause in typing. */
const pauseMs = 400

const offsetMs = (at: number): number => (zone.value === "utc" ? 0 : new Date(at).getTimezoneOffset() * 60_000)

/** Converts a time to the value of a `datetime-local` field, in the reader's time zone and without seconds. */
const toControl = (iso: string | null): string => {
  const at = Date.parse(iso ?? "")
  return Number.isNaN(at) ? "" : new Date(at - offsetMs(at)).toISOString().slice(0, 16)
}

const fromControl = (text: string): string => {
  const at = Date.parse(zone.value === "utc" ? `${text}Z` : text)
  return Number.isNaN(at) ? "" : new Date(at).toISOString()
}

const apply = (form: HTMLFormElement): void => {
  const fields = fieldsOf(form)
  const { query } = place.peek()
  const given = (name: string) => query.get(name) ?? ""
  const changes = Object.fromEntries(
    filterNames.map((name) => {
      const field = fields[name]
      if (field === undefined) return [name, given(name)]
      const text = field.trim()
      if (name !== "from" && name !== "to") return [name, text]
      return [name, text === toControl(given(name)) ? given(name) : fromControl(text)]
    })
  )
  if (filterNames.every((name) => changes[name] === given(name))) return
  setQuery({ ...changes, cursor: undefined }, { replace: false })
}

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

const chooseRange = (range: string): void => {
  const isOwn = range === "own"
  const day = 86_400_000
  setQuery(
    {
      range: range === "all" || isOwn ? undefined : range,
      from: isOwn ? new Date(Math.floor((Date.now() - day) / 60_000) * 60_000).toISOString() : undefined,
      to: undefined,
      cursor: undefined
    },
    { replace: false }
  )
}

const zoneName = (): string => (zone.value === "utc" ? "UTC" : "local time")

const Ranges = () => (
  <div class="ranges">
    <Choice
      legend="Range"
      value={rangeIn(place.value.query)}
      options={[
        ...ranges.map(({ text, value }) => ({ value, text })),
        { value: "all", text: "All" },
        { value: "own", text: "Custom" }
      ]}
      onChange={chooseRange}
    />
    <Choice
      legend="Time zone"
      value={zone.value}
      options={[
        { value: "local", text: "Local time" },
        { value: "utc", text: "UTC" }
      ]}
      onChange={setZone}
    />
  </div>
)

const rareNames = ["kind", "min_ms", "source", "option", "domain", "request", "batch"]

const RareFilters = ({ text, value }: ReturnType<typeof useFields>) => (
  <details class="more" open={rareNames.some((name) => value(name) !== "")}>
    <summary>Kind, latency, source, options, and ids</summary>
    <div class="options">
      <SelectField
        label="Kind"
        name="kind"
        value={value("kind")}
        options={options(
          "Searches and pages",
          [
            ["search", "Searches"],
            ["page", "Pages that were read"]
          ],
          value("kind")
        )}
      />
      <Field {...text("min_ms")} label="At least (ms)" type="number" input={{ min: 1, inputMode: "numeric" }} />
      <Field {...text("source")} label="Source" input={{ placeholder: "api" }} />
      <SelectField
        label="Search option"
        name="option"
        value={value("option")}
        options={options(
          "Any or none",
          optionNames.map((name) => [name, optionTexts[name]]),
          value("option")
        )}
      />
      <Field {...text("domain")} label="Searched domain" input={{ spellcheck: false, placeholder: "example.org" }} />
      <Field {...text("request")} label="Request id" input={{ autocomplete: "off", spellcheck: false }} />
      <Field {...text("batch")} label="Batch" input={{ placeholder: "bat_…" }} />
    </div>
  </details>
)

const chipNames: Readonly<Record<string, string>> = {
  text: "Contains",
  target: "Target",
  status: "Outcome",
  key: "Key",
  kind: "Kind",
  min_ms: "At least (ms)",
  request: "Request",
  batch: "Batch",
  source: "Source",
  option: "Option",
  domain: "Domain",
  from: "From",
  to: "Before"
}

const offerUndo = (): void => {
  const { path, query } = place.peek()
  announce("Filters cleared.", () => navigate(`${path}?${query}`))
}

const Chips = ({ keys }: Pick<LogFiltersProps, "keys">) => {
  const { query } = place.value
  if (!isFiltered(query)) return null
  const wordsOf = (name: string, value: string): string => {
    if (name === "target") return targetText(value)
    if (name === "key") return keys.find(({ id }) => id === value)?.name ?? value
    if (name === "option") return Object.entries(optionTexts).find(([code]) => code === value)?.[1] ?? value
    if (name === "status") return Object.entries(outcomes).find(([code]) => code === value)?.[1].text ?? value
    return name === "from" || name === "to" ? formatMoment(value) : value
  }
  const range = ranges.find(({ value }) => value === query.get("range"))
  const chips = [
    ...(range ? [{ name: "range", text: `Last ${range.text}` }] : []),
    ...filterNames.flatMap((name) => {
      const value = query.get(name) ?? ""
      return value === "" ? [] : [{ name, text: `${chipNames[name]}: ${wordsOf(name, value)}` }]
    })
  ]
  return (
    <ul class="chips" aria-label="Filters in effect">
      {chips.map(({ name, text }) => (
        <li key={name}>
          <button
            type="button"
            aria-label={`Remove the filter ${text}`}
            onClick={() => setQuery({ [name]: undefined, cursor: undefined }, { replace: false })}
          >
            <bdi>{text}</bdi>
            <Icon name="close" />
          </button>
        </li>
      ))}
      <li>
        <a href={place.value.path} onClick={offerUndo}>
          Clear
        </a>
      </li>
    </ul>
  )
}

const Selects = ({ issues, keys, value }: LogFiltersProps & Pick<ReturnType<typeof useFields>, "value">) => {
  const select = (name: "target" | "status" | "key") => ({ name, value: value(name), error: issues[name] })
  return (
    <>
      <SelectField
        {...select("target")}
        label="Target"
        options={options(
          "All targets",
          allTargets.map((name) => [name, name === "page" ? "page (pages that were read)" : targetText(name)]),
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
    </>
  )
}

export const LogFilters = ({ issues, keys }: LogFiltersProps) => {
  const fields = useFields(issues)
  const timer = useRef(0)
  useEffect(() => () => clearTimeout(timer.current), [])
  const applyNow = (form: HTMLFormElement): void => {
    clearTimeout(timer.current)
    apply(form)
  }
  return (
    <search aria-label="Filter the log">
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          applyNow(event.currentTarget)
        }}
        onChange={(event) => applyNow(event.currentTarget)}
        onInput={({ currentTarget: form }) => {
          clearTimeout(timer.current)
          timer.current = window.setTimeout(() => apply(form), pauseMs)
        }}
      >
        <Ranges />
        <div class="options">
          <Field
            {...fields.text("text")}
            label="Query contains"
            type="search"
            input={{ autocomplete: "off", dir: "auto", maxLength: 400 }}
          />
          <Selects issues={issues} keys={keys} value={fields.value} />
          {rangeIn(place.value.query) === "own" && (
            <>
              <Field {...fields.moment("from")} label={`From (${zoneName()})`} type="datetime-local" />
              <Field {...fields.moment("to")} label={`Before (${zoneName()})`} type="datetime-local" />
            </>
          )}
        </div>
        <RareFilters {...fields} />
        <Chips keys={keys} />
      </form>
    </search>
  )
}
