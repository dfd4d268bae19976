import { computed, signal } from "@preact/signals"
import { type ApiError, call, onFreshSignInNeeded, onSessionEnd } from "../api/client.ts"
import type { Answer } from "../api/routes.ts"
import { home, navigate, place } from "./router.ts"
import { tabsOf } from "./tabs.ts"

export type Me = Answer<"GET /v1/me">

export type Session =
  | { readonly _tag: "loading" }
  | { readonly _tag: "open"; readonly me: Me }
  | { readonly _tag: "failed"; readonly error: ApiError }

export const session = signal<Session>({ _tag: "loading" })

export const me = computed(() => (session.value._tag === "open" ? session.value.me : undefined))

/** True while the page asks for the password because its session ended. Typed text stays. */
export const isExpired = signal(false)

/** Set while an action waits for the person to sign in again. Called with false if they do not. */
export const confirmation = signal<((isConfirmed: boolean) => void) | undefined>(undefined)

const askPerson = (): Promise<boolean> =>
  new Promise((resolve) => {
    confirmation.value = (isConfirmed) => {
      confirmation.value = undefined
      resolve(isConfirmed)
    }
  })

type SessionAccounts = Answer<"GET /v1/session/account">

/** The signed-in person's accounts, one of which this session uses. */
export const accounts = signal<SessionAccounts>({ email: "", accounts: [] })

/** The address that the person signs in with, which is not always the account's. */
export const ownEmail = computed(() => accounts.value.email)

export const membership = computed(() => accounts.value.accounts.find((account) => account.is_current))

export const role = computed(() => membership.value?.role)

/** A change makes the page read all of its data again. */
export const epoch = signal(0)

export const readAgain = (): void => {
  epoch.value += 1
}

export const signInPath = `${home}/sign-in`

export const enrollPath = `${home}/second-factor`

/** Tabs share the session cookie, so signing in or out in one tab affects all of them. */
const tabs = tabsOf("quarry")

/** Everyone may read `/v1/me`, except people who must set up a second factor first. */
const enroll = (): void => {
  if (place.value.path !== enrollPath) navigate(enrollPath + nextQuery(), { replace: true })
}

export const loadSession = async (): Promise<void> => {
  const [result, own] = await Promise.all([call("GET /v1/me", {}), call("GET /v1/session/account", {})])
  if (result.ok) {
    accounts.value = own.ok ? own.value : { email: result.value.email, accounts: [] }
    session.value = { _tag: "open", me: result.value }
  } else if (result.error.code === "forbidden") enroll()
  else if (result.error.code !== "unauthorized") session.value = { _tag: "failed", error: result.error }
}

const nextQuery = (): string => {
  const { path, query } = place.value
  const next = query.size === 0 ? path : `${path}?${query}`
  return `?${new URLSearchParams({ next })}`
}

export const signInAddress = (): string => signInPath + nextQuery()

const onEnd = (): void => {
  if (session.value._tag === "open") isExpired.value = true
  else location.replace(signInAddress())
}

/** Reloads the document, so no data of the previous account stays in memory. */
const reloadAt = (address: string): void => location.assign(address)

/** Continues on the present page after signing in again. A different account gets a fresh page. */
const resume = async (): Promise<void> => {
  const before = me.value?.email
  if (before === undefined) return
  const result = await call("GET /v1/me", {})
  if (!result.ok) return
  if (result.value.email !== before) return location.reload()
  session.value = { _tag: "open", me: result.value }
  isExpired.value = false
  readAgain()
}

export const resumeEverywhere = async (): Promise<void> => {
  tabs.post("resumed")
  await resume()
}

/** Call it after the user signs out, or deletes or leaves the account. */
export const leave = (): void => {
  tabs.post("changed")
  reloadAt(signInPath)
}

export const enterAccount = async (id: string) => {
  const result = await call("POST /v1/session/account", { body: { account_id: id } })
  if (result.ok) {
    tabs.post("changed")
    reloadAt(home)
  }
  return result
}

/** Set by the sign-in pages, so that other tabs learn of the session. Browsers that block storage have none. */
const isArrival = (): boolean => {
  try {
    const isSet = sessionStorage.getItem("quarry.entered") !== null
    sessionStorage.removeItem("quarry.entered")
    return isSet
  } catch {
    return false
  }
}

export const startSession = (): void => {
  onSessionEnd(onEnd)
  onFreshSignInNeeded(askPerson)
  tabs.listen((message) => (message === "resumed" ? void resume() : location.reload()))
  void loadSession().then(() => me.value !== undefined && isArrival() && tabs.post("resumed"))
}
