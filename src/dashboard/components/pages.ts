import { isOneOf, type RoleGroup } from "../app/roles.ts"
import { home } from "../app/router.ts"
import type { IconName } from "./ui/Icon.tsx"

export interface PageLink {
  readonly path: string
  readonly text: string
  readonly icon: IconName
  readonly key: string
  /** The roles that may see the page. Absent if every role may. */
  readonly roles?: RoleGroup
}

export const pageLinks: ReadonlyArray<PageLink> = [
  { path: home, text: "Overview", icon: "overview", key: "o" },
  { path: `${home}/playground`, text: "Playground", icon: "playground", key: "p", roles: "builders" },
  { path: `${home}/log`, text: "Log", icon: "log", key: "l", roles: "readers" },
  { path: `${home}/usage`, text: "Usage", icon: "usage", key: "u" },
  { path: `${home}/keys`, text: "API keys", icon: "keys", key: "k", roles: "readers" },
  { path: `${home}/apps`, text: "Connected apps", icon: "apps", key: "c" },
  { path: `${home}/webhooks`, text: "Webhooks", icon: "webhooks", key: "w", roles: "builders" },
  { path: `${home}/billing`, text: "Billing", icon: "billing", key: "b", roles: "payers" },
  { path: `${home}/members`, text: "Members", icon: "members", key: "m", roles: "ownerOnly" },
  { path: `${home}/activity`, text: "Activity", icon: "activity", key: "t", roles: "ownerOnly" },
  { path: `${home}/account`, text: "Account", icon: "account", key: "a" }
]

/** The roles that may see the page at a path (R67). Undefined if everybody may. */
export const rolesAt = (path: string): RoleGroup | undefined => pageLinks.find((link) => link.path === path)?.roles

export const mayOpen = (path: string): boolean => {
  const roles = rolesAt(path)
  return roles === undefined || isOneOf(roles)
}

export const ownPageLinks = (): ReadonlyArray<PageLink> => pageLinks.filter(({ path }) => mayOpen(path))
