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

/** True while the page asks for the password because its session ended. Typed text stays. */
export const isExpired = signal(false)

/** A change makes the page read all of its data again. */
export const epoch = signal(0)

export const readAgain = (): void => {
  epoch.value += 1
}

export const signInPath = `${home}/sign-in`

export const openPaths: ReadonlySet<string> = new Set([signInPath, `${home}/sign-up`, `${home}/forgot-password`])

/** Tabs share the session cookie, so signing in or out in one tab affects all of them. */
const tabs = new BroadcastChannel("quarry")

export const loadSession = async (): Promise<void> => {
  const result = await call("GET /v1/me", {})
  if (result.ok) session.value = { _tag: "open", me: result.value }
  else if (result.error.code !== "unauthorized") session.value = { _tag: "failed", error: result.error }
}

export const signInAddress = (): string => {
  const { path, query } = place.value
  const next = query.size === 0 ? path : `${path}?${query}`
  return `${signInPath}?${new URLSearchParams({ next })}`
}

const onEnd = (): void => {
  if (openPaths.has(place.value.path)) return
  if (session.value._tag === "open") isExpired.value = true
  else navigate(signInAddress(), { replace: true })
}

/** Reloads the document, so no data of the previous account stays in memory. */
const reloadAt = (address: string): void => location.assign(address)

export const enter = (): void => {
  tabs.postMessage("changed")
  reloadAt(ownPlace(place.value.query.get("next")))
}

/** Continues on the present page after signing in again. A different account gets a fresh page. */
const resume = async (): Promise<void> => {
  const before = me.value?.email
  const result = await call("GET /v1/me", {})
  if (!result.ok) return
  if (result.value.email !== before) return location.reload()
  session.value = { _tag: "open", me: result.value }
  isExpired.value = false
  readAgain()
}

export const resumeEverywhere = async (): Promise<void> => {
  tabs.postMessage("resumed")
  await resume()
}

/** Call it after the user signs out or deletes the account. */
export const leave = (): void => {
  tabs.postMessage("changed")
  reloadAt(signInPath)
}

export const startSession = (): void => {
  onSessionEnd(onEnd)
  tabs.addEventListener("message", ({ data }) => {
    if (openPaths.has(place.value.path)) return reloadAt(ownPlace(place.value.query.get("next")))
    if (data !== "resumed") return location.reload()
    if (isExpired.value) void resume()
  })
  if (!openPaths.has(place.value.path)) void loadSession()
}
