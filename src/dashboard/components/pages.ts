import { home } from "../app/router.ts"
import type { IconName } from "./ui/Icon.tsx"

export interface PageLink {
  readonly path: string
  readonly text: string
  readonly icon: IconName
  readonly key: string
}

export const pageLinks: ReadonlyArray<PageLink> = [
  { path: home, text: "Overview", icon: "overview", key: "o" },
  { path: `${home}/playground`, text: "Playground", icon: "playground", key: "p" },
  { path: `${home}/log`, text: "Log", icon: "log", key: "l" },
  { path: `${home}/usage`, text: "Usage", icon: "usage", key: "u" },
  { path: `${home}/keys`, text: "API keys", icon: "keys", key: "k" },
  { path: `${home}/apps`, text: "Connected apps", icon: "apps", key: "c" },
  { path: `${home}/webhooks`, text: "Webhooks", icon: "webhooks", key: "w" },
  { path: `${home}/billing`, text: "Billing", icon: "billing", key: "b" },
  { path: `${home}/activity`, text: "Activity", icon: "activity", key: "t" },
  { path: `${home}/account`, text: "Account", icon: "account", key: "a" }
]
