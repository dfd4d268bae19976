import { useState } from "preact/hooks"
import { call, explain } from "../api/client.ts"
import { changed, useFresh } from "../app/freshness.ts"
import { lastOf, useRoute } from "../app/resource.ts"
import { place, setQuery } from "../app/router.ts"
import { useForm } from "../app/useForm.ts"
import { Badge } from "../components/ui/Badge.tsx"
import { Button } from "../components/ui/Button.tsx"
import { Card } from "../components/ui/Card.tsx"
import { Menu, type MenuItem } from "../components/ui/Menu.tsx"
import { Notice } from "../components/ui/Notice.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { EmptyState, Loaded } from "../components/ui/States.tsx"
import { actionHead, Table } from "../components/ui/Table.tsx"
import { announce } from "../components/ui/Toast.tsx"
import { EventSettingsForm } from "../components/webhooks/EventSettingsForm.tsx"
import { WebhookDeliveries } from "../components/webhooks/WebhookDeliveries.tsx"
import {
  ChangeWebhookDialog,
  CreateWebhookDialog,
  DeleteWebhookDialog,
  RotateWebhookDialog,
  type Webhook
} from "../components/webhooks/WebhookDialogs.tsx"
import { formatSpan, plural } from "../format.ts"

const dialogs = { change: ChangeWebhookDialog, rotate: RotateWebhookDialog, delete: DeleteWebhookDialog }

type Action = { readonly _tag: "create" } | { readonly _tag: keyof typeof dialogs; readonly subject: Webhook }

const reasons = { account: "Disabled", failing: "Disabled: failed for five days", gone: "Disabled: returned 410" }

const State = ({ disabled_reason: reason, failing_since: since }: Webhook) => {
  if (reason !== null) return <Badge text={reasons[reason]} kind="bad" />
  if (since !== null) return <Badge text={`Failing for ${formatSpan(since)}`} kind="bad" />
  return <Badge text="Working" kind="ok" />
}

interface ListProps {
  readonly webhooks: ReadonlyArray<Webhook>
  readonly onAction: (action: Action) => void
  readonly onChange: (text: string, undo?: () => void) => void
  readonly onOpen: (id: string) => void
}

const List = ({ onAction, onChange, onOpen, webhooks }: ListProps) => {
  const { busy, error, run } = useForm()
  const setDisabled = (id: string, disabled: boolean, undo?: () => void): void =>
    run(
      () => call("PATCH /v1/webhooks/{id}", { params: { id }, body: { disabled } }),
      () => onChange(disabled ? "Disabled the webhook." : "Enabled the webhook.", undo)
    )
  const toggle = ({ disabled_at, id }: Webhook): void => {
    const isDisabled = disabled_at !== null
    setDisabled(id, !isDisabled, () => setDisabled(id, isDisabled))
  }
  const test = ({ id }: Webhook): void =>
    run(
      () => call("POST /v1/webhooks/{id}/test", { params: { id } }),
      () => {
        announce("A test event is being sent.")
        onOpen(id)
      }
    )
  const actions = (webhook: Webhook) => {
    const { disabled_at: disabledAt, id, url } = webhook
    const isDisabled = disabledAt !== null
    const buttons: ReadonlyArray<readonly [text: string, onClick: () => void]> = [
      ["Deliveries", () => onOpen(id)],
      isDisabled ? ["Enable", () => toggle(webhook)] : ["Test", () => test(webhook)]
    ]
    const items: ReadonlyArray<MenuItem> = [
      { text: "Edit", onSelect: () => onAction({ _tag: "change", subject: webhook }) },
      { text: "Rotate secret", onSelect: () => onAction({ _tag: "rotate", subject: webhook }) },
      ...(isDisabled ? [] : [{ text: "Disable", onSelect: () => toggle(webhook) }]),
      { text: "Delete", isDanger: true, onSelect: () => onAction({ _tag: "delete", subject: webhook }) }
    ]
    return (
      <span class="row-actions">
        {buttons.map(([text, onClick]) => (
          <Button key={text} small busy={busy} label={`${text} ${url}`} onClick={onClick}>
            {text}
          </Button>
        ))}
        <Menu label={`More actions for ${url}`} items={items} />
      </span>
    )
  }
  if (webhooks.length === 0) {
    return <EmptyState title="No webhooks">Add a webhook to send events to your server.</EmptyState>
  }
  return (
    <>
      {error && <Notice text={explain(error)} />}
      <Table
        caption="Webhooks"
        rows={webhooks}
        keyOf={({ id }) => id}
        columns={[
          { name: "URL", isHeader: true, cell: ({ url }) => <bdi class="address">{url}</bdi> },
          {
            name: "Events",
            cell: ({ events }) => (events.length === 0 ? "All" : plural(events.length, "type"))
          },
          { name: "Status", cell: (webhook) => <State {...webhook} /> },
          { ...actionHead, cell: actions }
        ]}
      />
    </>
  )
}

export const WebhooksPage = () => {
  const webhooks = useRoute("GET /v1/webhooks", {})
  const settings = useRoute("GET /v1/webhooks/settings", {})
  const [action, setAction] = useState<Action>()
  useFresh("webhooks", webhooks.reload)
  const onChange = (text: string, undo?: () => void): void => {
    announce(text, undo)
    changed("webhooks")
    webhooks.reload()
  }
  const openId = place.value.query.get("webhook")
  const isDeletingOpen = action?._tag === "delete" && action.subject.id === openId
  const close = (): void => setAction(undefined)
  const onDone = (text: string, undo?: () => void): void => {
    if (isDeletingOpen) setQuery({ webhook: undefined })
    onChange(text, undo)
    close()
  }
  const open = lastOf(webhooks.state.value)?.webhooks.find(({ id }) => id === openId)
  const OneDialog = action && action._tag !== "create" ? dialogs[action._tag] : undefined
  return (
    <>
      <PageHeader
        title="Webhooks"
        lead="Account events, sent to your servers and by email."
        actions={
          <Button kind="primary" onClick={() => setAction({ _tag: "create" })}>
            Add webhook
          </Button>
        }
      />
      <div class="stack">
        <Card title="Your webhooks">
          <Loaded resource={webhooks} height={140}>
            {({ webhooks }) => (
              <List
                webhooks={webhooks}
                onAction={setAction}
                onChange={onChange}
                onOpen={(id) => setQuery({ webhook: id })}
              />
            )}
          </Loaded>
        </Card>
        {open && (
          <Card title="Deliveries">
            <WebhookDeliveries
              key={open.id}
              id={open.id}
              url={open.url}
              isFollowed={!isDeletingOpen}
              onChange={webhooks.refresh}
            />
          </Card>
        )}
        <Card title="Thresholds and emails">
          <Loaded resource={settings} height={320}>
            {(settings) => <EventSettingsForm {...settings} />}
          </Loaded>
        </Card>
      </div>
      {action?._tag === "create" && <CreateWebhookDialog onDone={onDone} onClose={close} />}
      {OneDialog && action && action._tag !== "create" && (
        <OneDialog subject={action.subject} onChange={onChange} onDone={onDone} onClose={close} />
      )}
    </>
  )
}
