import { computed, signal } from "@preact/signals"
import { type ApiError, call, onSessionEnd } from "./api/client.ts"
import type { Answer } from "./api/routes.ts"
import { home, navigate, ownPlace, place } from "./router.ts"

/** The person who is signed in, and what happens in every tab when that changes. */

export type Me = Answer<"GET /v1/me">

export type Session =
  | { readonly _tag: "loading" }
  | { readonly _tag: "open"; readonly me: Me }
  | { readonly _tag: "failed"; readonly error: ApiError }

export const session = signal<Session>({ _tag: "loading" })

/** The account of the page; undefined until it is known. */
export const me = computed(() => (session.value._tag === "open" ? session.value.me : undefined))

export const signInPath = `${home}/sign-in`

/** Pages for people who are not signed in. */
export const openPaths: ReadonlySet<string> = new Set([signInPath, `${home}/sign-up`, `${home}/forgot-password`])

/** Tabs of one browser share its cookie, so that what one of them does to the session is true for all. */
const tabs = new BroadcastChannel("quarry")

/** Reads the account again: at the start, and when figures may have changed. */
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

/** Loads the document again, so that nothing of the account before is left in memory. */
const reloadAt = (address: string): void => location.assign(address)

/** To be called after a sign-in: opens the page that the person came for. */
export const enter = (): void => {
  tabs.postMessage("changed")
  reloadAt(ownPlace(place.value.query.get("next")))
}

/** To be called after the session has ended by the person's own word. */
export const leave = (): void => {
  tabs.postMessage("changed")
  reloadAt(signInPath)
}

export const startSession = (): void => {
  onSessionEnd(toSignIn)
  // Another account may be signed in now, or none: the page starts again and finds out.
  tabs.addEventListener("message", () =>
    openPaths.has(place.value.path) ? reloadAt(ownPlace(place.value.query.get("next"))) : location.reload()
  )
  if (!openPaths.has(place.value.path)) void loadSession()
}
