import { useState } from "preact/hooks"
import { describeUserAgent } from "../../domain/accounts/userAgent.ts"
import { call } from "../api/client.ts"
import type { AccountEvent } from "../api/routes.ts"
import { useRoute } from "../app/resource.ts"
import { place, setQuery } from "../app/router.ts"
import { saveFile } from "../app/saveFile.ts"
import { submitting } from "../app/useForm.ts"
import { Button, ButtonLink } from "../components/ui/Button.tsx"
import { Field, including, SelectField } from "../components/ui/Field.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { Pager } from "../components/ui/Pager.tsx"
import { EmptyState, Loaded } from "../components/ui/States.tsx"
import { type Column, Table } from "../components/ui/Table.tsx"
import { announce } from "../components/ui/Toast.tsx"
import { formatMoment } from "../format.ts"

const route = "GET /v1/account/events"

const entriesOnPage = 50

const filterNames = ["type", "actor", "from", "to"] as const

const objects = [
  { value: "", text: "Everything" },
  { value: "person", text: "Sign-ins and passwords" },
  { value: "factor", text: "Second factors" },
  { value: "member", text: "Members" },
  { value: "key", text: "API keys" },
  { value: "app", text: "Connected apps" },
  { value: "webhook", text: "Webhooks" },
  { value: "plan", text: "Plan" },
  { value: "pack", text: "Credits" },
  { value: "payment", text: "Payments" },
  { value: "account", text: "Account" },
  { value: "operator", text: "The operator's commands" }
]

/** "Key created" for `key.created`, and "Signed in" for `person.signed_in`. */
const nameOf = ({ type }: AccountEvent): string => {
  const words = type.replace(/^person\./, "").replace(/[._]/g, " ")
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const isChange = (value: unknown): value is { readonly from: unknown; readonly to: unknown } =>
  typeof value === "object" && value !== null && "from" in value && "to" in value

const textOf = (value: unknown): string => {
  if (value === null) return "none"
  if (isChange(value)) return `${textOf(value.from)} → ${textOf(value.to)}`
  if (Array.isArray(value)) return value.join(", ") || "none"
  return typeof value === "object" ? JSON.stringify(value) : String(value)
}

const detailsOf = ({ actor, changes }: AccountEvent): string =>
  Object.entries(changes)
    .filter(([name, value]) => name !== "id" && name !== "key_id" && value !== actor)
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${textOf(value)}`)
    .join("; ")

const columns: ReadonlyArray<Column<AccountEvent>> = [
  {
    name: "What",
    isHeader: true,
    cell: (event) => (
      <>
        {nameOf(event)} <bdi class="soft">{detailsOf(event)}</bdi>
      </>
    )
  },
  { name: "Who", cell: ({ actor }) => <bdi>{actor === "operator" ? "The operator" : (actor ?? "–")}</bdi> },
  { name: "Address", cell: ({ address }) => address ?? "–" },
  { name: "Browser", cell: ({ browser }) => (browser === null ? "–" : describeUserAgent(browser)) },
  { name: "When", isFigure: true, cell: ({ at }) => <time dateTime={at}>{formatMoment(at)}</time> }
]

const apply = (changes: Readonly<Record<string, string>>): void =>
  setQuery({ ...changes, cursor: undefined }, { replace: false })

const Filters = ({ issues }: { readonly issues: Readonly<Record<string, string>> }) => {
  const { query } = place.value
  const value = (name: string): string => query.get(name) ?? ""
  const field = (name: (typeof filterNames)[number]) => ({ name, value: value(name), error: issues[name] })
  return (
    <search aria-label="Filter the activity">
      <form
        class="filters"
        onSubmit={submitting(() => {})}
        onChange={({ target }) => {
          if (target instanceof HTMLInputElement) apply({ [target.name]: target.value.trim() })
        }}
      >
        <SelectField
          {...field("type")}
          label="What"
          options={including(objects, value("type"))}
          onChange={(type) => apply({ type })}
        />
        <Field
          {...field("actor")}
          label="Who"
          input={{ autocomplete: "off", placeholder: "Email, key ID or operator" }}
        />
        <Field {...field("from")} label="From (UTC)" type="date" />
        <Field {...field("to")} label="Before (UTC)" type="date" />
      </form>
    </search>
  )
}

const Export = ({ parameters }: { readonly parameters: Readonly<Record<string, string>> }) => {
  const [busy, setBusy] = useState(false)
  const run = async (): Promise<void> => {
    setBusy(true)
    const result = await call(route, { query: parameters, accept: "application/x-ndjson" })
    setBusy(false)
    if (!result.ok) return announce(`The activity could not be exported. ${result.error.message}`)
    // Lines are not JSON, so the client leaves them as text.
    saveFile("quarry-activity.ndjson", String(result.value), "application/x-ndjson")
  }
  return (
    <Button busy={busy} onClick={() => void run()}>
      Export NDJSON
    </Button>
  )
}

export const ActivityPage = () => {
  const { path, query } = place.value
  const parameters = Object.fromEntries(filterNames.map((name) => [name, query.get(name) ?? ""]))
  const cursor = query.get("cursor") ?? ""
  const resource = useRoute(route, { query: { ...parameters, cursor, limit: entriesOnPage } })
  const state = resource.state.value
  return (
    <>
      <PageHeader
        title="Activity"
        lead="Who did what in this account, newest first. Entries are kept for 400 days."
        actions={
          <>
            <Button busy={state._tag === "loading"} onClick={resource.reload}>
              Refresh
            </Button>
            <Export parameters={parameters} />
          </>
        }
      />
      <div class="stack">
        <Filters issues={state._tag === "failed" ? state.error.issues : {}} />
        <Loaded resource={resource} height={480}>
          {({ events, next_cursor: next }) => (
            <section class="card" aria-label="Activity">
              {events.length === 0 ? (
                <EmptyState
                  title={next === null ? "Nothing matches" : "No matches so far"}
                  action={next === null && <ButtonLink href={path} text="Show everything" />}
                />
              ) : (
                <Table caption="Activity, newest first" rows={events} keyOf={({ id }) => id} columns={columns} />
              )}
              <Pager label="Pages of the activity" next={next} />
            </section>
          )}
        </Loaded>
      </div>
    </>
  )
}
