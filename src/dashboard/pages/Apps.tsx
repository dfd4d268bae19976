import { useState } from "preact/hooks"
import { call } from "../api/client.ts"
import type { Answer } from "../api/routes.ts"
import { type Resource, useRoute } from "../app/resource.ts"
import { Button, ButtonLink } from "../components/ui/Button.tsx"
import { Card } from "../components/ui/Card.tsx"
import { CodeBlock } from "../components/ui/CodeBlock.tsx"
import { ConfirmDialog } from "../components/ui/Dialog.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { EmptyState, Loaded } from "../components/ui/States.tsx"
import { actionHead, Table } from "../components/ui/Table.tsx"
import { announce } from "../components/ui/Toast.tsx"
import { formatMoment, formatNumber, formatRelative } from "../format.ts"

type Apps = Answer<"GET /v1/apps">
type App = Apps["apps"][number]

const nameOf = ({ name }: App): string => name ?? "Unnamed app"

const EndDialog = ({
  app,
  apps,
  onClose
}: {
  readonly app: App
  readonly apps: Resource<Apps>
  readonly onClose: () => void
}) => (
  <ConfirmDialog
    title={`Disconnect ${nameOf(app)}?`}
    name={nameOf(app)}
    action="Disconnect"
    request={() => call("DELETE /v1/apps/{app_id}", { params: { app_id: app.id } })}
    onDone={() => {
      announce(`Disconnected ${nameOf(app)}.`)
      apps.reload()
      onClose()
    }}
    onClose={onClose}
  >
    <p>It can no longer search for you or see your plan. This takes effect immediately.</p>
    <p>To connect again, the app needs your permission.</p>
  </ConfirmDialog>
)

const List = ({ apps, onEnd }: { readonly apps: ReadonlyArray<App>; readonly onEnd: (app: App) => void }) => (
  <Table
    caption="Connected apps"
    rows={apps}
    keyOf={({ id }) => id}
    columns={[
      { name: "App", isHeader: true, cell: (app) => <bdi>{nameOf(app)}</bdi> },
      { name: "Verified host", cell: ({ verified_host }) => verified_host ?? "None" },
      {
        name: "Daily limit",
        isFigure: true,
        cell: ({ daily_credits }) => (daily_credits === null ? "None" : formatNumber(daily_credits))
      },
      { name: "Connected", cell: (app) => formatMoment(app.connected_at) },
      { name: "Last used", cell: (app) => formatRelative(app.renewed_at) },
      {
        ...actionHead,
        cell: (app) => (
          <Button small label={`Disconnect ${nameOf(app)}`} onClick={() => onEnd(app)}>
            Disconnect
          </Button>
        )
      }
    ]}
  />
)

const serverUrl = (): string => `${location.origin}/mcp`

const installLinks = (url: string): ReadonlyArray<readonly [program: string, href: string]> => [
  [
    "Cursor",
    `cursor://anysphere.cursor-deeplink/mcp/install?name=quarry&config=${encodeURIComponent(btoa(JSON.stringify({ url })))}`
  ],
  ["VS Code", `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: "quarry", type: "http", url }))}`]
]

const commands = (url: string): string =>
  [
    `claude mcp add --transport http quarry ${url}`,
    `codex mcp add quarry --url ${url}`,
    `gemini mcp add --transport http quarry ${url}`
  ].join("\n")

const Connect = () => (
  <div class="prose">
    <p>
      Add this URL to an agent or editor that supports the Model Context Protocol (MCP). It sends you here to sign in
      and allow access.
    </p>
    <CodeBlock title="MCP server URL" what="the URL" text={serverUrl()} />
    <p class="links">
      {installLinks(serverUrl()).map(([program, href]) => (
        <ButtonLink key={program} href={href} text={`Add to ${program}`} />
      ))}
    </p>
    <CodeBlock title="Claude Code, Codex, Gemini CLI" what="the commands" text={commands(serverUrl())} />
  </div>
)

export const AppsPage = () => {
  const apps = useRoute("GET /v1/apps", {})
  const [ending, setEnding] = useState<App>()
  return (
    <>
      <PageHeader
        title="Connected apps"
        lead="Apps that can search for you. Each of their searches costs you a credit."
      />
      <div class="stack">
        <Card title="Your apps">
          <Loaded resource={apps} height={140}>
            {({ apps }) =>
              apps.length === 0 ? (
                <EmptyState title="No connected apps">An app appears here after you allow it.</EmptyState>
              ) : (
                <List apps={apps} onEnd={setEnding} />
              )
            }
          </Loaded>
        </Card>
        <Card title="Connect an app">
          <Connect />
        </Card>
      </div>
      {ending && <EndDialog app={ending} apps={apps} onClose={() => setEnding(undefined)} />}
    </>
  )
}
