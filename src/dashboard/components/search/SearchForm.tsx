import type { TargetedInputEvent } from "preact"
import { useMemo } from "preact/hooks"
import { submitting } from "../../app/useForm.ts"
import { formatNumber, plural } from "../../format.ts"
import {
  type Draft,
  defaultLocale,
  fitsAddress,
  geos,
  maxPageRows,
  maxRows,
  rowsOf,
  rulesOf,
  targetRules,
  targets,
  withTarget
} from "../../search/draft.ts"
import { cancel, creditsLeft, running } from "../../search/searches.ts"
import { Button } from "../ui/Button.tsx"
import { Choice } from "../ui/Choice.tsx"
import { Field, FieldFrame, including, type Option, SelectField } from "../ui/Field.tsx"
import { Table } from "../ui/Table.tsx"
import { type DraftFieldsProps, SearchOptions } from "./SearchOptions.tsx"
import { aboutTarget, TargetName, targetText } from "./TargetName.tsx"

export interface SearchFormProps extends DraftFieldsProps {
  readonly onSearch: () => void
}

const regions = new Intl.DisplayNames("en", { type: "region" })

const countries = () =>
  geos
    .map((geo) => ({ value: geo, text: `${regions.of(geo.toUpperCase()) ?? geo} (${geo})` }))
    .sort((a, b) => a.text.localeCompare(b.text))

const upTo = (max: number, most: number, why: string): ReadonlyArray<Option> =>
  Array.from({ length: most }, (_, index) => index + 1).map((value) =>
    value <= max
      ? { value: String(value), text: String(value) }
      : { value: String(value), text: `${value} – ${why}`, disabled: true }
  )

const safeLevels = ["off", "moderate", "strict"]

const fixed = ({ mode, target }: Draft) => {
  const { maxNum, maxPage, safe } = rulesOf(target)
  const batch = mode === "bulk"
  return {
    page: batch ? "Batches return page 1." : maxPage === 1 ? `${target} returns only page 1.` : undefined,
    num: maxNum < 20 ? `${target} returns at most ${maxNum}.` : undefined,
    safe: batch ? "Batches run with safe search off." : safe ? undefined : `${target} does not support safe search.`
  }
}

const fieldOf =
  ({ draft, issues, onChange }: DraftFieldsProps) =>
  (name: keyof Draft) => ({
    name,
    error: issues[name],
    value: draft[name],
    onChange: (value: string) => onChange({ ...draft, [name]: value })
  })

const Options = ({ draft, issues, onChange }: DraftFieldsProps) => {
  const options = useMemo(countries, [])
  const { maxNum, maxPage } = rulesOf(draft.target)
  const about = aboutTarget(draft.target)
  const reasons = fixed(draft)
  const isBatch = draft.mode === "bulk"
  const field = fieldOf({ draft, issues, onChange })
  // A batch does not send these values.
  const page = isBatch ? "1" : draft.page
  const safe = isBatch ? "off" : draft.safe
  return (
    <div class="options">
      <SelectField
        {...field("target")}
        label="Target"
        hint={about && <bdi>{about}</bdi>}
        options={including(
          targets.map((value) => ({ value, text: targetText(value) })),
          draft.target
        )}
        onChange={(target) => onChange(withTarget(draft, target))}
      />
      <SelectField {...field("geo")} label="Country" options={including(options, draft.geo)} />
      <Field
        label="Locale"
        name="locale"
        value={draft.locale}
        error={issues.locale}
        hint={draft.locale === "" ? `Default: ${defaultLocale(draft.geo) || "set by the country"}.` : undefined}
        onInput={(locale) => onChange({ ...draft, locale })}
        input={{ autocomplete: "off", spellcheck: false, maxLength: 35 }}
      />
      <SelectField
        {...field("num")}
        label="Results"
        hint={reasons.num}
        options={including(upTo(maxNum, 20, `not on ${draft.target}`), draft.num)}
      />
      <SelectField
        {...field("page")}
        label="Page"
        value={page}
        hint={reasons.page}
        disabled={reasons.page !== undefined && page === "1"}
        options={including(upTo(maxPage, 5, `not on ${draft.target}`), page)}
      />
      <SelectField
        {...field("safe")}
        label="Safe search"
        value={safe}
        hint={reasons.safe}
        disabled={reasons.safe !== undefined && safe === "off"}
        options={including(
          safeLevels.map((value) => ({ value, text: value })),
          safe
        )}
      />
    </div>
  )
}

const Capabilities = () => (
  <details class="more">
    <summary>Compare targets</summary>
    <Table
      caption="Limits of each target"
      rows={Object.entries(targetRules)}
      keyOf={([target]) => target}
      columns={[
        { name: "Target", isHeader: true, cell: ([target]) => <TargetName target={target} /> },
        { name: "Pages", isFigure: true, cell: ([, { maxPage }]) => (maxPage === 1 ? "1" : `1 to ${maxPage}`) },
        { name: "Results", isFigure: true, cell: ([, { maxNum }]) => `1 to ${maxNum}` },
        { name: "Safe search", cell: ([, { safe }]) => (safe ? safeLevels.join(", ") : "off") }
      ]}
    />
  </details>
)

const Cost = ({ draft }: { readonly draft: Draft }) => {
  const left = creditsLeft()
  const rows = draft.mode === "single" ? 1 : Math.max(1, rowsOf(draft).length)
  return (
    <p class="soft">
      {draft.mode === "single"
        ? "A search costs one credit, even if the target fails."
        : draft.mode === "page"
          ? `Each page costs one credit if it can be read: at most ${plural(rows, "credit")}.`
          : `A batch costs one credit for each search that runs: at most ${plural(rows, "credit")} for this batch.`}
      {left !== undefined && left < Number.MAX_SAFE_INTEGER && ` You have ${formatNumber(left)}.`}
    </p>
  )
}

const Lines = ({ draft, issues, onChange }: DraftFieldsProps) => {
  const count = rowsOf(draft).length
  const isPages = draft.mode === "page"
  const most = isPages ? maxPageRows : maxRows
  const [name, what] = isPages ? (["urls", "pages"] as const) : (["queries", "searches"] as const)
  const issue = issues[name] ?? (isPages ? issues.url : undefined)
  return (
    <FieldFrame
      label={isPages ? "Page URLs, one per line" : "Searches, one per line"}
      hint={`${count} of ${most}${fitsAddress(draft) ? "" : ". They are too long for a URL, so links to this page do not include them."}`}
      error={
        issue ?? (count > most ? `${isPages ? "A request" : "A batch"} can have at most ${most} ${what}.` : undefined)
      }
    >
      {({ describedBy, id }) => (
        <textarea
          id={id}
          name={name}
          rows={isPages ? 3 : 6}
          dir="auto"
          value={draft[name]}
          aria-describedby={describedBy}
          aria-invalid={issue ? true : undefined}
          onInput={(event: TargetedInputEvent<HTMLTextAreaElement>) =>
            onChange({ ...draft, [name]: event.currentTarget.value })
          }
        />
      )}
    </FieldFrame>
  )
}

const modes = [
  { value: "single", text: "Search" },
  { value: "page", text: "Read pages" },
  { value: "bulk", text: "Batch" }
]

const actions = { single: "Search", page: "Read", bulk: "Run batch" }

const examples: ReadonlyArray<{ readonly text: string; readonly change: Partial<Draft> }> = [
  { text: "http caching", change: { mode: "single", query: "http caching" } },
  { text: "css grid, in Germany", change: { mode: "single", query: "css grid", geo: "de" } },
  {
    text: "fetch, only from MDN",
    change: { mode: "single", query: "fetch", include_domains: "developer.mozilla.org" }
  },
  {
    text: "Read a page",
    change: { mode: "page", urls: "https://developer.mozilla.org/en-US/docs/Web/HTTP/Guides/Caching" }
  },
  { text: "Three searches at once", change: { mode: "bulk", queries: "http caching\netag\ncache-control" } }
]

/** Only fills in the form, because running a search costs a credit. */
const Examples = ({ draft, onChange }: Pick<DraftFieldsProps, "draft" | "onChange">) => (
  <p class="examples">
    <span class="soft">Examples:</span>
    {examples.map(({ change, text }) => (
      <button key={text} type="button" onClick={() => onChange({ ...draft, ...change })}>
        {text}
      </button>
    ))}
  </p>
)

const formats = [
  { value: "markdown", text: "Markdown" },
  { value: "text", text: "Plain text" }
]

const linkOptions = [
  { value: "false", text: "Text only" },
  { value: "true", text: "Text and links" }
]

const PageOptions = (props: DraftFieldsProps) => {
  const field = fieldOf(props)
  return (
    <div class="options">
      <SelectField {...field("format")} label="Format" options={including(formats, props.draft.format)} />
      <SelectField {...field("links")} label="Links" options={linkOptions} />
    </div>
  )
}

export const SearchForm = ({ draft, issues, onChange, onSearch }: SearchFormProps) => {
  const isRunning = running.value !== undefined
  return (
    <form class="search" noValidate onSubmit={submitting(onSearch)}>
      <Choice
        legend="Request"
        value={draft.mode}
        options={modes}
        onChange={(mode) => onChange({ ...draft, mode: mode === "bulk" || mode === "page" ? mode : "single" })}
      />
      {draft.mode === "single" ? (
        <Field
          label="Query"
          name="query"
          type="search"
          value={draft.query}
          error={issues.query}
          onInput={(query) => onChange({ ...draft, query })}
          input={{ autocomplete: "off", dir: "auto", inputMode: "search" }}
        />
      ) : (
        <Lines draft={draft} issues={issues} onChange={onChange} />
      )}
      {draft.mode === "page" ? (
        <PageOptions draft={draft} issues={issues} onChange={onChange} />
      ) : (
        <>
          <Options draft={draft} issues={issues} onChange={onChange} />
          <SearchOptions draft={draft} issues={issues} onChange={onChange} />
        </>
      )}
      <div class="submit">
        <div class="actions">
          <Button kind="primary" type="submit" busy={isRunning}>
            {isRunning ? (draft.mode === "page" ? "Reading" : "Searching") : actions[draft.mode]}
          </Button>
          {isRunning && <Button onClick={cancel}>Cancel</Button>}
        </div>
        <Cost draft={draft} />
      </div>
      <Examples draft={draft} onChange={onChange} />
      {draft.mode !== "page" && <Capabilities />}
    </form>
  )
}
