import { computed, signal } from "@preact/signals"
import { commandLine } from "../../domain/operations/commandLine.ts"
import { call, type Result } from "../api/client.ts"
import type { Answer } from "../api/routes.ts"
import { usePolling } from "../app/polling.ts"
import { home } from "../app/router.ts"
import type { PageLink } from "../components/pages.ts"

export const root = `${home}/operator`

export const customerPath = (id: string): string => `${root}/customers/${encodeURIComponent(id)}`

export const requestPath = (id: string): string => `${root}/request/${encodeURIComponent(id)}`

export const links: ReadonlyArray<Pick<PageLink, "path" | "text" | "icon">> = [
  { path: root, text: "Now", icon: "overview" },
  { path: `${root}/customers`, text: "Customers", icon: "members" },
  { path: `${root}/request`, text: "One request", icon: "log" },
  { path: `${root}/engines`, text: "Engines", icon: "playground" },
  { path: `${root}/usage`, text: "Who used most", icon: "usage" },
  { path: `${root}/index`, text: "Index", icon: "docs" },
  { path: `${root}/money`, text: "Money", icon: "billing" },
  { path: `${root}/audit`, text: "Audit", icon: "activity" },
  { path: `${root}/settings`, text: "Settings", icon: "apps" }
]

export const operator = signal<Result<Answer<"GET /v1/operator/me">> | undefined>(undefined)

export const loadOperator = async (): Promise<void> => {
  operator.value = await call("GET /v1/operator/me", {})
}

/** Observers see no buttons for acts, and the server refuses their acts. */
export const mayAct = computed(() => operator.value?.ok === true && operator.value.value.role === "operator")

/** Reads again while the page is visible, for as long as it is open. */
export const useLive = ({ refresh }: { readonly refresh: () => void }): void =>
  usePolling(true, refresh, { everyMs: 15_000, maxMs: Number.POSITIVE_INFINITY })

/** A command that only reads, with the flags that have a value. */
export const commandText = (command: string, flags: Readonly<Record<string, string | boolean>>): string =>
  commandLine({ command, ...Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== "")) })
