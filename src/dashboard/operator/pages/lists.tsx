import { useState } from "preact/hooks"
import { now } from "../../app/clock.ts"
import { useRoute } from "../../app/resource.ts"
import { Choice } from "../../components/ui/Choice.tsx"
import { Toggle } from "../../components/ui/Toggle.tsx"
import { dayMs, startOfDay } from "../../credits/figures.ts"
import { commandText, customerPath } from "../console.ts"
import { plans } from "../offers.ts"
import { filter, ListPage, queryOf, RecordTable } from "../parts.tsx"

const customerFilters = {
  text: {
    label: "Email, account, key or name",
    hint: "Part of an address or name, or the start of an account id or key"
  },
  plan: { label: "Plan", options: plans },
  suspended: { label: "State", options: [{ value: "true", text: "Suspended" }] }
}

export const CustomersPage = () => {
  const { after, ...query } = queryOf({ ...customerFilters, after: undefined })
  const { plan, suspended, text } = query
  return (
    <ListPage
      title="Customers"
      lead="Everybody with an account, newest first."
      line={
        text === ""
          ? commandText("account list", { plan, suspended: suspended === "true" })
          : commandText("account search", { text })
      }
      filters={customerFilters}
      resource={useRoute("GET /v1/operator/customers", { query: { ...query, after, limit: 50 } })}
    >
      {({ customers }) => (
        <RecordTable
          caption="Customers"
          rows={customers}
          none="Nobody matches"
          columns={{
            Customer: ({ account_id: id, email }) => <a href={customerPath(id)}>{email || id}</a>,
            Plan: ({ plan }) => plan,
            Quota: ({ quota }) => quota,
            Created: ({ created_at: at }) => at,
            Suspended: ({ suspended_at: at }) => at
          }}
        />
      )}
    </ListPage>
  )
}

const auditFilters = {
  operator: { label: "Operator" },
  command: { label: "Command, such as account grant" },
  subject: { label: "Account or key" },
  from: { label: "From (UTC)", type: "date" },
  to: { label: "Before (UTC)", type: "date" }
} as const

export const AuditPage = () => {
  const { after, ...query } = queryOf({ ...auditFilters, after: undefined })
  return (
    <ListPage
      title="Audit"
      lead="What operators changed or disclosed, with commands or here, newest first."
      line={commandText("audit list", query)}
      filters={auditFilters}
      resource={useRoute("GET /v1/operator/audit", { query: { ...query, before: after, limit: 50 } })}
    >
      {({ entries }) => (
        <RecordTable
          caption="Audit log"
          rows={entries}
          none="Nothing matches"
          columns={{
            Command: ({ command }) => command,
            Operator: ({ operator }) => operator,
            About: ({ subject }) => subject,
            With: (entry) => entry.arguments,
            When: ({ at }) => at
          }}
        />
      )}
    </ListPage>
  )
}

export const SettingsPage = () => {
  const [showsAll, setShowsAll] = useState(false)
  return (
    <ListPage
      title="Settings"
      lead="What is in force in the replica that answered, and where it comes from. Secrets are hidden."
      line="quarry config"
      resource={useRoute("GET /v1/operator/settings", {})}
      tools={
        <div class="controls">
          <Toggle isOn={!showsAll} onChange={(isOn) => setShowsAll(!isOn)}>
            Only what differs from the defaults
          </Toggle>
        </div>
      }
    >
      {({ settings }) => (
        <RecordTable
          caption="Settings"
          rows={settings.filter(({ source }) => showsAll || source !== "default")}
          none="Everything has its default"
          columns={{
            Setting: ({ name }) => <code>{name}</code>,
            Value: ({ secret, value }) => (secret && value !== null ? "hidden" : value),
            "Comes from": ({ source }) => source
          }}
        />
      )}
    </ListPage>
  )
}

const groups = ["account", "key", "target", "provider", "source"].map((value) => ({ value, text: value }))

const ranges = [
  { value: "", text: "24 hours" },
  { value: "today", text: "Today" },
  { value: "yesterday", text: "Yesterday" },
  { value: "7d", text: "7 days" }
]

const iso = (at: number): string => new Date(at).toISOString()

/** Days in UTC, and otherwise whole minutes, so that the page does not read again each time it is drawn. */
const rangeOf = (name: string): { readonly from: string; readonly to: string } => {
  const today = Date.parse(startOfDay(now()))
  const end = Math.ceil(now() / 60_000) * 60_000
  if (name === "today") return { from: iso(today), to: iso(end) }
  if (name === "yesterday") return { from: iso(today - dayMs), to: iso(today) }
  return { from: iso(end - (name === "7d" ? 7 : 1) * dayMs), to: iso(end) }
}

export const TopPage = () => {
  const { by, range } = queryOf({ by: undefined, range: undefined })
  const query = { by: by || "account", ...rangeOf(range) }
  return (
    <ListPage
      title="Who used most"
      lead="The most searches in a time. Days are in UTC."
      line={commandText("usage top", query)}
      resource={useRoute("GET /v1/operator/usage/top", { query: { ...query, limit: 20 } })}
      tools={
        <div class="controls">
          <Choice legend="Time" value={range} options={ranges} onChange={(range) => filter({ range })} />
          <Choice legend="Group by" value={query.by} options={groups} onChange={(by) => filter({ by })} />
        </div>
      }
    >
      {({ top }) => <RecordTable caption="Most searches" rows={top} none="No searches in this time" />}
    </ListPage>
  )
}
