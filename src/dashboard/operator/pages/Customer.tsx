import { now } from "../../app/clock.ts"
import { lastOf, useRoute } from "../../app/resource.ts"
import { place } from "../../app/router.ts"
import { named, outcomeSeries, StackedBars } from "../../components/credits/StackedBars.tsx"
import { Card } from "../../components/ui/Card.tsx"
import { PageHeader } from "../../components/ui/PageHeader.tsx"
import { Pager } from "../../components/ui/Pager.tsx"
import { Loaded } from "../../components/ui/States.tsx"
import { barsOf, presetStart } from "../../credits/usageFigures.ts"
import { formatDuration } from "../../format.ts"
import { ActButton, ActMenu } from "../acts.tsx"
import type { Customer } from "../api.ts"
import { commandText, requestPath } from "../console.ts"
import { accountOffers, giveCredits, memberOffers, revokeKey, suspend, webhookOffers } from "../offers.ts"
import { AsCommand, Details, RecordTable } from "../parts.tsx"

const Keys = ({ keys }: Pick<Customer, "keys">) => (
  <RecordTable
    caption="Keys"
    rows={keys}
    none="No keys"
    columns={{
      Key: ({ name }) => name,
      Secret: ({ hint }) => <code>{hint}</code>,
      "Created by": ({ created_by: by }) => by,
      "Last used": ({ last_used_at: at }) => at,
      Revoked: ({ revoked_at: at }) => at
    }}
    action={(key) => key.revoked_at === null && <ActButton isInRow offer={revokeKey(key)} />}
  />
)

const Members = ({ account: { account_id: id }, members }: Pick<Customer, "account" | "members">) => (
  <RecordTable
    caption="Members"
    rows={members}
    columns={{ Member: ({ email }) => email, Role: ({ role }) => role, Status: ({ status }) => status }}
    action={(member) => <ActMenu label={`Actions for ${member.email}`} offers={memberOffers(id, member)} />}
  />
)

const Webhooks = ({ account: { account_id: id }, webhooks }: Pick<Customer, "account" | "webhooks">) => (
  <RecordTable
    caption="Webhooks"
    rows={webhooks}
    none="No webhooks"
    columns={{
      Address: ({ url }) => url,
      Pending: ({ queued }) => queued,
      Failed: ({ failed }) => failed,
      "Failing since": ({ failing_since: at }) => at,
      Paused: ({ paused_at: at }) => at
    }}
    action={(webhook) => <ActMenu label={`Actions for ${webhook.url}`} offers={webhookOffers(id, webhook)} />}
  />
)

const Billing = ({ blocked_at, customer_id, orders, owed, subscriptions }: NonNullable<Customer["billing"]>) => (
  <Card title="Billing" isWide>
    <div class="stack">
      <Details of={{ customer_id, owed, blocked_at }} />
      <RecordTable caption="Subscriptions" rows={subscriptions} none="No subscription" />
      <RecordTable caption="Orders" rows={orders} none="No orders" />
    </div>
  </Card>
)

const Usage = ({ id }: { readonly id: string }) => {
  const query = { from: presetStart("30d", now()), granularity: "day" }
  return (
    <Loaded resource={useRoute("GET /v1/operator/customers/{id}/usage", { params: { id }, query })} height={240}>
      {(usage) => (
        <StackedBars
          title="Searches by day"
          description="Searches by day and outcome in the last 30 days"
          unit="Day (UTC)"
          series={outcomeSeries}
          bars={named(barsOf(usage, undefined, now()), usage.granularity)}
        />
      )}
    </Loaded>
  )
}

const Log = ({ id }: { readonly id: string }) => {
  const cursor = place.value.query.get("cursor") ?? ""
  const resource = useRoute("GET /v1/operator/customers/{id}/log", { params: { id }, query: { cursor, limit: 20 } })
  return (
    <Loaded resource={resource} height={240}>
      {({ next_cursor: next, queries }) => (
        <>
          <RecordTable
            caption="Searches"
            rows={queries}
            none="No searches"
            columns={{
              Query: ({ id, query }) => <a href={requestPath(id)}>{query || "(erased)"}</a>,
              Target: ({ target }) => target,
              Outcome: ({ status }) => status,
              Source: ({ source }) => source,
              Credits: ({ credits }) => credits,
              Latency: ({ duration_ms: ms }) => formatDuration(ms),
              When: ({ created_at: at }) => at
            }}
          />
          <Pager label="Pages of the log" next={next} />
        </>
      )}
    </Loaded>
  )
}

const Activity = ({ id }: { readonly id: string }) => (
  <Loaded
    resource={useRoute("GET /v1/operator/customers/{id}/activity", { params: { id }, query: { limit: 20 } })}
    height={240}
  >
    {({ events }) => (
      <RecordTable
        caption="Activity"
        rows={events}
        columns={{
          What: ({ type }) => type.replace(/[._]/g, " "),
          Who: ({ actor }) => actor,
          Changes: ({ changes }) => changes,
          When: ({ at }) => at
        }}
      />
    )}
  </Loaded>
)

export const CustomerPage = ({ id }: { readonly id: string }) => {
  const resource = useRoute("GET /v1/operator/customers/{id}", { params: { id } })
  const account = lastOf(resource.state.value)?.account
  const actions = account && (
    <>
      <ActButton offer={giveCredits(account)} />
      <ActButton offer={suspend(account)} />
      <ActMenu label="More actions" offers={accountOffers(account)} />
    </>
  )
  return (
    <>
      <PageHeader
        title={account?.email || id}
        lead={<AsCommand line={commandText("account show", { id })} />}
        actions={actions}
      />
      <Loaded resource={resource} height={640}>
        {({ account, keys, members, webhooks, ...figures }) => (
          <div class="grid">
            <Card title="Plan, credits and limits" isWide>
              <Details
                of={{
                  ...account,
                  ...figures.allowance,
                  pack_balance: figures.balance,
                  ...figures.limits,
                  next_change: figures.cycle.next,
                  last_seen: figures.last_seen
                }}
              />
            </Card>
            <Card title="Usage of the last 30 days" isWide>
              <Usage id={id} />
            </Card>
            <Card title="Keys" isWide>
              <Keys keys={keys} />
            </Card>
            <Card title="Members">
              <Members account={account} members={members} />
            </Card>
            <Card title="Webhooks">
              <Webhooks account={account} webhooks={webhooks} />
            </Card>
            {figures.billing && <Billing {...figures.billing} />}
            <Card title="Log" isWide>
              <Log id={id} />
            </Card>
            <Card title="Activity" isWide>
              <Activity id={id} />
            </Card>
          </div>
        )}
      </Loaded>
    </>
  )
}
