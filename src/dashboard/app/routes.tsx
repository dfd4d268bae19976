import type { ComponentType } from "preact"
import { rolesAt } from "../components/pages.ts"
import { KeysPage } from "../pages/Keys.tsx"
import { LogPage } from "../pages/Log.tsx"
import { LogEntryPage } from "../pages/LogEntry.tsx"
import { NotAllowedPage } from "../pages/NotAllowed.tsx"
import { NotFoundPage } from "../pages/NotFound.tsx"
import { OverviewPage } from "../pages/Overview.tsx"
import { PlaygroundPage } from "../pages/Playground.tsx"
import { UsagePage } from "../pages/Usage.tsx"
import { OnDemand } from "./OnDemand.tsx"
import { isOneOf } from "./roles.ts"
import { home } from "./router.ts"
import { enrollPath } from "./session.ts"

const pages: Readonly<Record<string, ComponentType>> = {
  [home]: OverviewPage,
  [`${home}/playground`]: PlaygroundPage,
  [`${home}/log`]: LogPage,
  [`${home}/usage`]: UsagePage,
  [`${home}/keys`]: KeysPage,
  [`${home}/apps`]: () => <OnDemand name="AppsPage" />,
  [`${home}/webhooks`]: () => <OnDemand name="WebhooksPage" />,
  [`${home}/billing`]: () => <OnDemand name="BillingPage" />,
  [`${home}/activity`]: () => <OnDemand name="ActivityPage" />,
  [`${home}/members`]: () => <OnDemand name="MembersPage" />,
  [`${home}/account`]: () => <OnDemand name="AccountPage" />,
  [enrollPath]: () => <OnDemand name="EnrollPage" />
}

const logEntry = new RegExp(`^${home}/log/([^/]+)$`)

export const PageAt = ({ path }: { readonly path: string }) => {
  const id = logEntry.exec(path)?.[1]
  const roles = rolesAt(id === undefined ? path : `${home}/log`)
  if (roles !== undefined && !isOneOf(roles)) return <NotAllowedPage roles={roles} />
  if (id !== undefined) return <LogEntryPage id={id} />
  const Page = pages[path] ?? NotFoundPage
  return <Page />
}
