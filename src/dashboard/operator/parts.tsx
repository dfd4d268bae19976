import { type ComponentChildren, isValidElement } from "preact"
import { queryText } from "../api/client.ts"
import type { Resource } from "../app/resource.ts"
import { place, setQuery } from "../app/router.ts"
import { submitting } from "../app/useForm.ts"
import { Badge, outcomeOf } from "../components/ui/Badge.tsx"
import { ButtonLink } from "../components/ui/Button.tsx"
import { CopyButton } from "../components/ui/CopyButton.tsx"
import { Field, type Option, SelectField } from "../components/ui/Field.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { EmptyState, Loaded } from "../components/ui/States.tsx"
import { actionHead, Table } from "../components/ui/Table.tsx"
import { formatMoment, formatNumber } from "../format.ts"
import type { Verification } from "./api.ts"
import { customerPath, requestPath } from "./console.ts"

/** The command that shows or does the same. */
export const AsCommand = ({ line }: { readonly line: string }) => (
  <span class="copied">
    <code class="address">{line}</code>
    <CopyButton text={line} what="the command" />
  </span>
)

export const When = ({ at }: { readonly at: string }) => <time dateTime={at}>{formatMoment(at)}</time>

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text)

/** `Pack balance` for `pack_balance`. */
const headOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ")

/** A value as text: `ok 3, upstream_error 1` for a record. */
export const textOf = (value: unknown): string => {
  if (value === null || value === undefined || value === "") return "–"
  if (typeof value === "number") return formatNumber(value)
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (Array.isArray(value)) return value.map(textOf).join(", ") || "–"
  if (!isRecord(value)) return isTime(String(value)) ? formatMoment(String(value)) : String(value)
  const all = Object.entries(value).map(([name, one]) => `${name.replaceAll("_", " ")} ${textOf(one)}`)
  return all.join(", ") || "–"
}

/** An account, search or batch is a link to its page. */
const shown = (value: unknown): ComponentChildren => {
  if (isValidElement(value)) return value
  const text = textOf(value)
  if (typeof value !== "string" || text === "–") return text
  if (value.startsWith("acc_")) return <a href={customerPath(value)}>{value}</a>
  if (/^(?:qry|bat)_/.test(value)) return <a href={requestPath(value)}>{value}</a>
  if (isTime(value)) return <When at={value} />
  const outcome = outcomeOf(value)
  return outcome === undefined ? <bdi class="address">{text}</bdi> : <Badge {...outcome} />
}

export const Details = ({ of }: { readonly of: Readonly<Record<string, unknown>> }) => (
  <dl class="details">
    {Object.entries(of).map(([name, value]) => (
      <div key={name}>
        <dt>{headOf(name)}</dt>
        <dd>{shown(value)}</dd>
      </div>
    ))}
  </dl>
)

/** The last verification of the ledger. */
export const Verified = ({ last }: { readonly last: Verification | null }) => {
  if (last === null) return <p class="soft">It was not verified yet.</p>
  const isClean = Object.values(last.problems).every((count) => count === 0)
  const state = <Badge kind={isClean ? "ok" : "bad"} text={isClean ? "clean" : "does not match its records"} />
  return <Details of={{ state, ...last }} />
}

export interface RecordTableProps<Row> {
  readonly caption: string
  readonly rows: ReadonlyArray<Row>
  /** The heads and what is below them. Without them, the names of the first row. */
  readonly columns?: Readonly<Record<string, (row: Row) => unknown>>
  readonly action?: (row: Row) => ComponentChildren
  /** For rows without an `id`: stays the same while the row changes, so that reading again keeps the focus and an open menu. */
  readonly keyOf?: (row: Row) => string
  readonly none?: string
}

export const RecordTable = <Row extends object>({
  action,
  caption,
  columns,
  keyOf,
  none,
  rows
}: RecordTableProps<Row>) => {
  const [first] = rows
  if (first === undefined) return <EmptyState title={none ?? "Nothing found"} />
  const named = Object.keys(first).map(
    (name) => [name, (row: Row): unknown => Object.entries(row).find(([it]) => it === name)?.[1]] as const
  )
  const all = columns === undefined ? named : Object.entries(columns)
  return (
    <Table
      caption={caption}
      rows={rows}
      keyOf={(row) => keyOf?.(row) ?? ("id" in row ? String(row.id) : JSON.stringify(row))}
      columns={[
        ...all.map(([name, of], index) => ({
          name: headOf(name),
          isHeader: index === 0,
          isFigure: index > 0 && typeof of(first) === "number",
          cell: (row: Row) => shown(of(row))
        })),
        ...(action === undefined ? [] : [{ ...actionHead, cell: action }])
      ]}
    />
  )
}

interface Filter {
  readonly label: string
  readonly type?: "text" | "date"
  readonly options?: ReadonlyArray<Option>
  readonly hint?: string
}

/** The given names of the address's query. */
export const queryOf = <Name extends string>(names: Readonly<Record<Name, unknown>>): Readonly<Record<Name, string>> =>
  // The cast is safe: the entries have exactly these names.
  Object.fromEntries(Object.keys(names).map((name) => [name, place.value.query.get(name) ?? ""])) as Record<
    Name,
    string
  >

/** A change is a step in the browser's history, and leads to the first page of the list. */
export const filter = (changes: Readonly<Record<string, string>>): void =>
  setQuery({ ...changes, after: undefined }, { replace: false })

interface FiltersProps {
  readonly fields: Readonly<Record<string, Filter>>
  readonly issues: Readonly<Record<string, string>>
}

const Filters = ({ fields, issues }: FiltersProps) => (
  <search aria-label="Filters">
    <form
      class="filters"
      onSubmit={submitting(() => {})}
      onChange={({ target }) => target instanceof HTMLInputElement && filter({ [target.name]: target.value.trim() })}
    >
      {Object.entries(fields).map(([name, { options, ...given }]) => {
        const field = { ...given, name, value: place.value.query.get(name) ?? "", error: issues[name] }
        return options === undefined ? (
          <Field key={name} {...field} input={{ autocomplete: "off", spellcheck: false }} />
        ) : (
          <SelectField
            key={name}
            {...field}
            options={[{ value: "", text: "All" }, ...options]}
            onChange={(value) => filter({ [name]: value })}
          />
        )
      })}
    </form>
  </search>
)

export interface ListPageProps<Answer> {
  readonly title: string
  readonly lead: string
  /** The command that prints the same list. */
  readonly line: string
  readonly filters?: FiltersProps["fields"]
  readonly tools?: ComponentChildren
  readonly resource: Resource<Answer>
  readonly children: (answer: Answer) => ComponentChildren
}

/** A page that is a list from one route. The answer's `next` leads to older rows. */
export const ListPage = <Answer extends object>(props: ListPageProps<Answer>) => {
  const { children, filters, lead, line, resource, title, tools } = props
  const { path, query } = place.value
  const state = resource.state.value
  return (
    <>
      <PageHeader title={title} lead={lead} actions={<AsCommand line={line} />} />
      <div class="stack">
        {tools}
        {filters && <Filters fields={filters} issues={state._tag === "failed" ? state.error.issues : {}} />}
        <Loaded resource={resource} height={480}>
          {(answer) => (
            <div class="card">
              {children(answer)}
              <nav class="pager" aria-label="Pages">
                {query.has("after") ? <ButtonLink href={path} text="Newest" /> : <span />}
                {"next" in answer && answer.next !== null && (
                  <ButtonLink
                    href={path + queryText({ ...Object.fromEntries(query), after: String(answer.next) })}
                    text="Older"
                  />
                )}
              </nav>
            </div>
          )}
        </Loaded>
      </div>
    </>
  )
}
