import { useEffect, useRef, useState } from "preact/hooks"
import type { Key } from "../../api/routes.ts"
import { now } from "../../app/clock.ts"
import { zone } from "../../app/preferences.ts"
import { navigate, place, setQuery } from "../../app/router.ts"
import { fieldsOf, submitting } from "../../app/useForm.ts"
import { isOpen, toLocal } from "../../bounds.ts"
import { toField } from "../../credits/usageFigures.ts"
import { formatMoment, formatRelative } from "../../format.ts"
import { allTargets, optionNames } from "../../search/draft.ts"
import { filterNames, filterTexts, isFiltered, optionTexts, rangeIn, ranges } from "../../search/logView.ts"
import { outcomeOf, outcomes } from "../ui/Badge.tsx"
import { Field, including, SelectField } from "../ui/Field.tsx"
import { Icon } from "../ui/Icon.tsx"
import { announce } from "../ui/Toast.tsx"
import { targetText } from "./TargetName.tsx"

export interface LogFiltersProps {
  readonly keys: ReadonlyArray<Key>
  readonly issues: Readonly<Record<string, string>>
}

/** Filters apply after this pause in typing. */
const pauseMs = 400

/** Converts a time to the value of a `datetime-local` field, in the reader's time zone and without seconds. */
const toControl = (iso: string | null): string => {
  const at = Date.parse(iso ?? "")
  if (Number.isNaN(at)) return ""
  return zone.value === "utc" ? toField(new Date(at).toISOString()) : toLocal(at)
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

type Known = ReadonlyArray<readonly [value: string, text: string]>

const useFields = (issues: LogFiltersProps["issues"]) => {
  const { query } = place.value
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  useEffect(() => setTyped({}), [query])
  const value = (name: string): string => query.get(name) ?? ""
  const field = (name: string, present: string) => ({
    name,
    value: typed[name] ?? present,
    error: issues[name],
    onInput: (text: string) => setTyped((typed) => ({ ...typed, [name]: text }))
  })
  return {
    value,
    text: (name: string) => field(name, value(name)),
    moment: (name: string) => field(name, toControl(value(name))),
    select: (name: string, allText: string, known: Known) => ({
      name,
      value: value(name),
      options: including(
        [{ value: "", text: allText }, ...known.map(([value, text]) => ({ value, text }))],
        value(name)
      )
    })
  }
}

const chooseRange = (range: string): void => {
  const isOwn = range === "own"
  const day = 86_400_000
  setQuery(
    {
      range: range === "all" || isOwn ? undefined : range,
      from: isOwn ? new Date(Math.floor((now() - day) / 60_000) * 60_000).toISOString() : undefined,
      to: undefined,
      cursor: undefined
    },
    { replace: false }
  )
}

const rangeOptions = [
  { value: "all", text: "All time" },
  ...ranges.map(({ text, value }) => ({ value, text: `Last ${text}` })),
  { value: "own", text: "Custom" }
]

const zoneName = (): string => (zone.value === "utc" ? "UTC" : "local time")

const kinds: Known = [
  ["search", "Searches"],
  ["page", "Pages that were read"]
]

const searchOptions: Known = optionNames.map((name) => [name, optionTexts[name]])

const rare = {
  kind: "Kind",
  min_ms: "At least (ms)",
  source: "Source",
  option: "Search option",
  domain: "Searched domain",
  request: "Request id",
  batch: "Batch"
} as const

type Rare = keyof typeof rare

const isRare = (name: string): name is Rare => name in rare

/** The field of a filter that few searches need. Once it applies, a chip shows it. */
const RareField = ({ name, select, text }: ReturnType<typeof useFields> & { readonly name: Rare }) => {
  const shared = { label: rare[name], isLabelHidden: true }
  if (name === "kind") return <SelectField {...select("kind", "Searches and pages", kinds)} {...shared} />
  if (name === "option") return <SelectField {...select("option", "Any or none", searchOptions)} {...shared} />
  const isNumber = name === "min_ms"
  return (
    <Field
      {...text(name)}
      {...shared}
      type={isNumber ? "number" : "text"}
      input={{
        autocomplete: "off",
        spellcheck: false,
        placeholder: rare[name],
        autofocus: true,
        ...(isNumber && { min: 1 })
      }}
    />
  )
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
    if (name === "status") return outcomeOf(value)?.text ?? value
    return name === "from" || name === "to" ? formatMoment(value) : value
  }
  const range = ranges.find(({ value }) => value === query.get("range"))
  const chips = [
    ...(range ? [{ name: "range", text: `Last ${range.text}` }] : []),
    ...filterNames.flatMap((name) => {
      const value = query.get(name) ?? ""
      return value === "" ? [] : [{ name, text: `${filterTexts[name]}: ${wordsOf(name, value)}` }]
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

const knownTargets: Known = allTargets.map((name) => [
  name,
  name === "page" ? "page (pages that were read)" : targetText(name)
])

const knownOutcomes: Known = Object.entries(outcomes).map(([name, { text }]) => [name, text])

const OwnRange = ({ moment }: ReturnType<typeof useFields>) => (
  <>
    <Field {...moment("from")} label={`From (${zoneName()})`} type="datetime-local" />
    <Field {...moment("to")} label={`Before (${zoneName()})`} type="datetime-local" />
  </>
)

const rareOptions = [
  { value: "", text: "Add filter" },
  ...Object.entries(rare).map(([value, text]) => ({ value, text }))
]

export const LogFilters = ({ issues, keys }: LogFiltersProps) => {
  const fields = useFields(issues)
  const [added, setAdded] = useState<Rare>()
  const timer = useRef(0)
  useEffect(() => () => clearTimeout(timer.current), [])
  const applyNow = (form: HTMLFormElement): void => {
    clearTimeout(timer.current)
    apply(form)
  }
  const choices = {
    target: ["All targets", knownTargets],
    status: ["All outcomes", knownOutcomes],
    key: ["All keys", keys.map((key) => [key.id, nameOf(key)] as const)]
  } as const
  const shown = added ?? Object.keys(issues).find(isRare)
  return (
    <search aria-label="Filter the log">
      <form
        class="filters"
        onSubmit={submitting(applyNow)}
        onChange={(event) => applyNow(event.currentTarget)}
        onInput={({ currentTarget: form }) => {
          clearTimeout(timer.current)
          timer.current = window.setTimeout(() => apply(form), pauseMs)
        }}
      >
        <Field
          {...fields.text("text")}
          label="Query contains"
          isLabelHidden
          type="search"
          input={{ autocomplete: "off", dir: "auto", maxLength: 400, placeholder: "Query contains" }}
        />
        <SelectField
          label="Range"
          isLabelHidden
          value={rangeIn(place.value.query)}
          options={rangeOptions}
          onChange={chooseRange}
        />
        {(["target", "status", "key"] as const).map((name) => {
          const [allText, known] = choices[name]
          const select = fields.select(name, allText, known)
          return <SelectField key={name} {...select} label={filterTexts[name]} isLabelHidden error={issues[name]} />
        })}
        <SelectField
          label="Add filter"
          isLabelHidden
          value={shown ?? ""}
          options={rareOptions}
          onChange={(name) => setAdded(isRare(name) ? name : undefined)}
        />
        {rangeIn(place.value.query) === "own" && <OwnRange {...fields} />}
        {shown && <RareField key={shown} {...fields} name={shown} />}
        <Chips keys={keys} />
      </form>
    </search>
  )
}
