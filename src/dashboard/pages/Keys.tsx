import { useState } from "preact/hooks"
import type { Key, Usage } from "../api/routes.ts"
import { changed, useFresh } from "../app/freshness.ts"
import { lastOf, useRoute } from "../app/resource.ts"
import { isOneOf } from "../app/roles.ts"
import { home, navigate, place, setQuery } from "../app/router.ts"
import { ownEmail } from "../app/session.ts"
import { describeBounds, isOpen } from "../bounds.ts"
import {
  BindKeyDialog,
  CreateKeyDialog,
  type OneKeyDialogProps,
  RevokeKeyDialog,
  RotateKeyDialog
} from "../components/keys/KeyDialogs.tsx"
import { Spent } from "../components/keys/Spent.tsx"
import { Badge } from "../components/ui/Badge.tsx"
import { Button } from "../components/ui/Button.tsx"
import { Card } from "../components/ui/Card.tsx"
import { Menu, type MenuItem } from "../components/ui/Menu.tsx"
import { Meter } from "../components/ui/Meter.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { EmptyState, Loaded } from "../components/ui/States.tsx"
import { actionHead, type Column, Table } from "../components/ui/Table.tsx"
import { announce } from "../components/ui/Toast.tsx"
import { formatDayAndYear, formatNumber, formatPercent, formatRelative, plural } from "../format.ts"

const maxActiveKeys = 50

const dialogs = { bind: BindKeyDialog, rotate: RotateKeyDialog, revoke: RevokeKeyDialog }

type Action = { readonly _tag: "create" } | { readonly _tag: keyof typeof dialogs; readonly subject: Key }

const searchesOf = (usage: Usage | undefined): ReadonlyMap<string | null, number> => {
  const counts = new Map<string | null, number>()
  for (const { group, searches } of usage?.series ?? []) counts.set(group, (counts.get(group) ?? 0) + searches)
  return counts
}

const name: Column<Key> = {
  name: "Name",
  isHeader: true,
  cell: (key) => (
    <div class="named">
      <bdi>{key.name}</bdi>
      <code>{key.hint}</code>
      {describeBounds(key).map((bound) => (
        <span key={bound} class="bound">
          {bound}
        </span>
      ))}
      {key.revoked_at !== null && isOpen(key) && (
        <span class="bound">Old secret, stops working {formatRelative(key.revoked_at)}</span>
      )}
    </div>
  )
}
const type: Column<Key> = { name: "Type", cell: (key) => <Badge text={key.type} /> }
const created: Column<Key> = {
  name: "Created",
  cell: (key) => (
    <div class="named">
      <time>{formatDayAndYear(key.created_at)}</time>
      {key.created_by !== null && key.created_by !== ownEmail.value && <span class="bound">by {key.created_by}</span>}
    </div>
  )
}
const lastUse: Column<Key> = {
  name: "Last used",
  cell: ({ last_used_at: at }) => (at === null ? <span class="soft">never</span> : formatRelative(at))
}
const shared = [name, type, created, lastUse]
const budget: Column<Key> = {
  name: "Spent",
  cell: ({ budget }) => <Spent budget={budget} />
}

const Share = ({ searches, total }: { readonly searches: number; readonly total: number }) => (
  <span class="budget">
    {`${formatPercent(searches / Math.max(1, total))}, ${formatNumber(searches)}`}
    <Meter isHarmless label="Share of searches" used={searches} of={total} />
  </span>
)

interface ActiveKeysProps {
  readonly keys: ReadonlyArray<Key>
  readonly usage: Usage | undefined
  readonly onAction: (action: Action) => void
}

const itemsOf = (key: Key, onAction: (action: Action) => void): ReadonlyArray<MenuItem> => [
  ...(key.revoked_at === null && isOneOf("builders")
    ? [{ text: "Edit limits", onSelect: () => onAction({ _tag: "bind", subject: key }) }]
    : []),
  { text: "View in the log", onSelect: () => navigate(`${home}/log?key=${key.id}`) },
  { text: "View usage", onSelect: () => navigate(`${home}/usage?group_by=key&key=${key.id}`) },
  ...(isOneOf("builders")
    ? [{ text: "Revoke", isDanger: true, onSelect: () => onAction({ _tag: "revoke", subject: key }) }]
    : [])
]

const ActiveKeys = ({ keys, onAction, usage }: ActiveKeysProps) => {
  const searches = searchesOf(usage)
  return (
    <Table
      caption="Active keys"
      rows={keys}
      keyOf={({ id }) => id}
      columns={[
        ...shared,
        budget,
        {
          name: "Share of period",
          cell: ({ id }) => usage && <Share searches={searches.get(id) ?? 0} total={usage.totals.searches} />
        },
        {
          ...actionHead,
          cell: (key) => (
            <span class="row-actions">
              {key.revoked_at === null && isOneOf("builders") && (
                <Button small label={`Rotate ${key.name}`} onClick={() => onAction({ _tag: "rotate", subject: key })}>
                  Rotate
                </Button>
              )}
              <Menu label={`More actions for ${key.name}`} items={itemsOf(key, onAction)} />
            </span>
          )
        }
      ]}
    />
  )
}

const RevokedKeys = ({ keys }: { readonly keys: ReadonlyArray<Key> }) => (
  <details class="more">
    <summary>{plural(keys.length, "revoked key")}</summary>
    <Table
      caption="Revoked keys"
      rows={keys}
      keyOf={({ id }) => id}
      columns={[
        ...shared,
        { name: "Revoked", cell: ({ revoked_at: at }) => at !== null && formatRelative(at) },
        {
          name: "Searches",
          cell: ({ id, name }) => (
            <a href={`${home}/log?key=${id}`} aria-label={`Log of ${name}`}>
              Log
            </a>
          )
        }
      ]}
    />
  </details>
)

const NoKeys = ({ onCreate }: { readonly onCreate: () => void }) => (
  <EmptyState
    title="No active keys"
    action={
      isOneOf("builders") && (
        <Button kind="primary" onClick={onCreate}>
          Create key
        </Button>
      )
    }
  >
    Programs send a key with each request. Create a separate key for each program, so you can revoke one without
    affecting the others.
  </EmptyState>
)

const Dialogs = ({ action, ...props }: Omit<OneKeyDialogProps, "subject"> & { readonly action: Action }) => {
  if (action._tag === "create") return <CreateKeyDialog {...props} />
  const KeyDialog = dialogs[action._tag]
  return <KeyDialog subject={action.subject} {...props} />
}

export const KeysPage = () => {
  const keys = useRoute("GET /v1/api-keys", {})
  const usage = useRoute("GET /v1/usage", { query: { group_by: "key", granularity: "month" } })
  const [action, setAction] = useState<Action | undefined>(() =>
    place.peek().query.has("create") ? { _tag: "create" } : undefined
  )
  const reload = (): void => {
    keys.reload()
    usage.reload()
  }
  useFresh("keys", reload)
  const onChange = (text: string, undo?: () => void): void => {
    announce(text, undo)
    changed("keys")
    keys.reload()
  }
  const close = (): void => {
    setAction(undefined)
    if (place.peek().query.has("create")) setQuery({ create: undefined })
  }
  const onDone = (text: string, undo?: () => void): void => {
    onChange(text, undo)
    close()
  }
  const create = (): void => setAction({ _tag: "create" })
  const active = lastOf(keys.state.value)?.api_keys.filter(isOpen) ?? []
  const isFull = active.filter((key) => key.revoked_at === null).length >= maxActiveKeys
  return (
    <>
      <PageHeader
        title="API keys"
        lead="Programs send a key with each request. Store keys where only the program can read them."
        actions={
          isOneOf("builders") && (
            <Button kind="primary" disabled={isFull} onClick={create}>
              Create key
            </Button>
          )
        }
      />
      <div class="stack">
        {isFull && (
          <p class="notice info">{`You have reached the limit of ${maxActiveKeys} active keys. Revoke a key to create another.`}</p>
        )}
        <Card title="Active keys">
          <Loaded resource={keys} height={160}>
            {({ api_keys: all }) => {
              const revoked = all.filter((key) => !isOpen(key))
              return (
                <>
                  {active.length === 0 ? (
                    <NoKeys onCreate={create} />
                  ) : (
                    <ActiveKeys keys={active} usage={lastOf(usage.state.value)} onAction={setAction} />
                  )}
                  {revoked.length > 0 && <RevokedKeys keys={revoked} />}
                </>
              )
            }}
          </Loaded>
        </Card>
      </div>
      {action && isOneOf("builders") && (
        <Dialogs action={action} onChange={onChange} onDone={onDone} onGone={keys.reload} onClose={close} />
      )}
    </>
  )
}
