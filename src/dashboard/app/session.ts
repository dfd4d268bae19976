import { computed, signal } from "@preact/signals"
import { type ApiError, call, onSessionEnd } from "../api/client.ts"
import type { Answer } from "../api/routes.ts"
import { home, navigate, ownPlace, place } from "./router.ts"

export type Me = Answer<"GET /v1/me">

export type Session =
  | { readonly _tag: "loading" }
  | { readonly _tag: "open"; readonly me: Me }
  | { readonly _tag: "failed"; readonly error: ApiError }

export const session = signal<Session>({ _tag: "loading" })

export const me = computed(() => (session.value._tag === "open" ? session.value.me : undefined))

export const signInPath = `${home}/sign-in`

export const openPaths: ReadonlySet<string> = new Set([signInPath, `${home}/sign-up`, `${home}/forgot-password`])

/** Tabs share the session cookie, so signing in or out in one tab affects all of them. */
const tabs = new BroadcastChannel("quarry")

export const loadSession = async (): Promise<void> => {
  const result = await call("GET /v1/me", {})
  if (result.ok) session.value = { _tag: "open", me: result.value }
  else if (result.error.code !== "unauthorized") session.value = { _tag: "failed", error: result.error }
}

const toSignIn = (): void => {
  const { path, query } = place.value
  if (openPaths.has(path)) return
  session.value = { _tag: "loading" }
  const next = query.size === 0 ? path : `${path}?${query}`
  navigate(`${signInPath}?${new URLSearchParams({ next })}`, { replace: true })
}

/** Reloads the document, so no data of the previous account stays in memory. */
const reloadAt = (address: string): void => location.assign(address)

/** Opens the page that the user originally requested. Call it after signing in. */
export const enter = (): void => {
  tabs.postMessage("changed")
  reloadAt(ownPlace(place.value.query.get("next")))
}

/** Call it after the user signs out or deletes the account. */
export const leave = (): void => {
  tabs.postMessage("changed")
  reloadAt(signInPath)
}

export const startSession = (): void => {
  onSessionEnd(toSignIn)
  // The account may have changed, so the page starts over.
  tabs.addEventListener("message", () =>
    openPaths.has(place.value.path) ? reloadAt(ownPlace(place.value.query.get("next"))) : location.reload()
  )
  if (!openPaths.has(place.value.path)) void loadSession()
}
