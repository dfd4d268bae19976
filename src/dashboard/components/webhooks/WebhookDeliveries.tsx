import { useEffect, useState } from "preact/hooks"
import { call, explain } from "../../api/client.ts"
import type { Answer } from "../../api/routes.ts"
import { usePolling } from "../../app/polling.ts"
import { lastOf, useRoute } from "../../app/resource.ts"
import { useForm } from "../../app/useForm.ts"
import { formatDuration, formatMoment, plural } from "../../format.ts"
import { Badge } from "../ui/Badge.tsx"
import { Button } from "../ui/Button.tsx"
import { CodeBlock } from "../ui/CodeBlock.tsx"
import { Notice } from "../ui/Notice.tsx"
import { EmptyState, Loaded } from "../ui/States.tsx"
import { actionHead, Table } from "../ui/Table.tsx"
import { announce } from "../ui/Toast.tsx"
import type { Webhook } from "./WebhookDialogs.tsx"

type Delivery = Answer<"GET /v1/webhooks/{id}/deliveries">["deliveries"][number]

const kinds = { delivered: "ok", pending: "slow", failed: "bad" } as const

const outcomeOf = ({ attempts, duration_ms, error, next_attempt_at, status }: Delivery): string => {
  if (status === "delivered") return `Delivered in ${formatDuration(duration_ms ?? 0)}`
  if (attempts === 0) return "First attempt soon"
  const next = next_attempt_at === null ? "" : `, next at ${formatMoment(next_attempt_at)}`
  return `${error ?? ""} (${plural(attempts, "attempt")}${next})`
}

interface DeliveryTableProps {
  readonly deliveries: ReadonlyArray<Delivery>
  readonly busy: boolean
  readonly onSend: (delivery: Delivery) => void
}

const DeliveryTable = ({ busy, deliveries, onSend }: DeliveryTableProps) => (
  <Table
    caption="Deliveries"
    rows={deliveries}
    keyOf={({ id }) => id}
    columns={[
      {
        name: "Event",
        isHeader: true,
        cell: ({ data, event_id, type }) => (
          <details>
            <summary>{type}</summary>
            <CodeBlock title={event_id} what="the data" text={JSON.stringify(data, undefined, 2)} />
          </details>
        )
      },
      { name: "Created", cell: ({ created_at }) => <time>{formatMoment(created_at)}</time> },
      { name: "Status", cell: ({ status }) => <Badge text={status} kind={kinds[status]} /> },
      { name: "Response", cell: ({ http_status }) => http_status ?? "–" },
      { name: "Outcome", cell: outcomeOf },
      {
        ...actionHead,
        cell: (delivery) => (
          <Button small busy={busy} label={`Send again: ${delivery.type}`} onClick={() => onSend(delivery)}>
            Send again
          </Button>
        )
      }
    ]}
  />
)

const live = { everyMs: 2_000, maxMs: 120_000 }

export interface WebhookDeliveriesProps extends Pick<Webhook, "id" | "url"> {
  /** False while the webhook may be deleted, because reading its deliveries would then fail. */
  readonly isFollowed: boolean
  readonly onChange: () => void
}

export const WebhookDeliveries = ({ id, isFollowed, onChange, url }: WebhookDeliveriesProps) => {
  const [cursor, setCursor] = useState<string>()
  const page = useRoute("GET /v1/webhooks/{id}/deliveries", { params: { id }, query: { cursor, limit: 20 } })
  const { busy, error, run } = useForm()
  const shown = lastOf(page.state.value)?.deliveries ?? []
  // A finished delivery may have changed the state of its webhook.
  const states = shown.map(({ attempts, id, status }) => `${id} ${status} ${attempts}`).join()
  useEffect(() => {
    if (states !== "") onChange()
  }, [states])
  usePolling(isFollowed && shown.some(({ status }) => status === "pending"), page.refresh, live)
  const redeliver = ({ id: delivery }: Delivery): void =>
    run(
      () => call("POST /v1/webhooks/{id}/deliveries/{delivery}/redeliver", { params: { id, delivery } }),
      () => {
        announce("The event is being sent again.")
        setCursor(undefined)
        page.reload()
      }
    )
  return (
    <div class="stack">
      <p class="soft">
        <bdi>{url}</bdi>
      </p>
      {error && <Notice text={explain(error)} />}
      <Loaded resource={page} height={200}>
        {({ deliveries, next_cursor: next }) =>
          deliveries.length === 0 ? (
            <EmptyState title="No deliveries yet">Send a test event to see one.</EmptyState>
          ) : (
            <>
              <DeliveryTable deliveries={deliveries} busy={busy} onSend={redeliver} />
              <div class="actions">
                <Button small onClick={page.reload}>
                  Refresh
                </Button>
                {cursor && (
                  <Button small onClick={() => setCursor(undefined)}>
                    Newest
                  </Button>
                )}
                {next && (
                  <Button small onClick={() => setCursor(next)}>
                    Older
                  </Button>
                )}
              </div>
            </>
          )
        }
      </Loaded>
    </div>
  )
}
