import { noteServerTime } from "../app/clock.ts"
import { waitText } from "../format.ts"
import type { Answer, Input, Query, RouteName } from "./routes.ts"

/** An API error. The codes `offline` and `aborted` come from the browser and mean there was no response. */
export interface ApiError {
  readonly code: string
  readonly message: string
  /** 0 without a response. */
  readonly status: number
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly issues: Readonly<Record<string, string>>
  readonly body: unknown
}

/** The error as one or two sentences, with the time to wait if the server says it and the message does not. */
export const explain = ({ issues, message, retryAfterSeconds: seconds }: ApiError): string => {
  const text = Object.values(issues).join(". ") || message
  return seconds === undefined || /\bTry again in\b/i.test(text) ? text : `${text} Try again in ${waitText(seconds)}.`
}

export interface Succeeded<A> {
  readonly ok: true
  readonly value: A
  readonly headers: Headers
  readonly durationMs: number
}

export interface Failed {
  readonly ok: false
  readonly error: ApiError
  readonly headers: Headers
  readonly durationMs: number
}

export type Result<A> = Succeeded<A> | Failed

type Listener = () => void
const endListeners = new Set<Listener>()

export const onSessionEnd = (listener: Listener): void => void endListeners.add(listener)

let askPerson: () => Promise<boolean> = async () => false

/** The dashboard's way to let the person sign in again in place. Resolves to false if the person does not. */
export const onFreshSignInNeeded = (ask: () => Promise<boolean>): void => {
  askPerson = ask
}

const noIssues = {}

const withoutAnswer = (code: "offline" | "aborted"): ApiError => ({
  code,
  message:
    code === "offline"
      ? "Quarry could not be reached. Check your connection and try again."
      : "The request was canceled.",
  status: 0,
  requestId: undefined,
  retryAfterSeconds: undefined,
  issues: noIssues,
  body: undefined
})

/** For a failure in the browser itself. */
export const failed = (message: string): Failed => ({
  ok: false,
  error: { ...withoutAnswer("aborted"), message },
  headers: new Headers(),
  durationMs: 0
})

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const textOf = (body: unknown, name: string): string | undefined => {
  const value = isObject(body) ? body[name] : undefined
  return typeof value === "string" ? value : undefined
}

const issuesOf = (body: unknown): ApiError["issues"] => {
  const issues = isObject(body) && Array.isArray(body.issues) ? body.issues : []
  return Object.fromEntries(issues.map((issue) => [textOf(issue, "field") ?? "", textOf(issue, "message") ?? ""]))
}

const errorOf = (response: Response, body: unknown): ApiError => {
  const seconds = Number(response.headers.get("retry-after"))
  return {
    code: textOf(body, "error") ?? "internal_error",
    message: textOf(body, "message") ?? `Quarry returned status ${response.status}.`,
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: seconds > 0 ? seconds : undefined,
    issues: issuesOf(body),
    body
  }
}

export const queryText = (query: Query): string => {
  const entries = Object.entries(query).flatMap(
    ([name, value]): Array<[string, string]> => (value === undefined || value === "" ? [] : [[name, String(value)]])
  )
  return entries.length === 0 ? "" : `?${new URLSearchParams(entries)}`
}

export const addressOf = (
  route: RouteName,
  { params = {}, query = {} }: { readonly params?: Readonly<Record<string, string>>; readonly query?: Query }
): { readonly method: string; readonly address: string } => {
  const [method = "", path = ""] = route.split(" ")
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""))
  return { method, address: filled + queryText(query) }
}

const readBody = async (response: Response): Promise<unknown> => {
  const text = await response.text()
  if (!/^application\/json\b/.test(response.headers.get("content-type") ?? "")) return text
  return JSON.parse(text)
}

/** Never rejects; errors are returned as values. */
export const call = async <R extends RouteName>(route: R, input: Input<R>): Promise<Result<Answer<R>>> => {
  const {
    accept = "application/json",
    body,
    signal,
    ...rest
  }: { accept?: string; body?: object; signal?: AbortSignal; params?: Record<string, string>; query?: Query } = input
  const { address, method } = addressOf(route, rest)
  const start = performance.now()
  const headers = new Headers()
  // A file has its own media type.
  const payload = body instanceof Blob ? body : body && JSON.stringify(body)
  try {
    const response = await fetch(address, {
      method,
      headers: {
        accept,
        // Marks the request as same-site for browsers that send no `Sec-Fetch-Site` (R25).
        "x-quarry-dashboard": "1",
        ...(typeof payload === "string" && { "content-type": "application/json" })
      },
      ...(payload && { body: payload }),
      ...(signal && { signal })
    })
    noteServerTime(response.headers)
    const value = await readBody(response)
    const durationMs = performance.now() - start
    // The types in `Routes` come from the API's own schemas, so a successful body has that type.
    if (response.ok) return { ok: true, value: value as Answer<R>, headers: response.headers, durationMs }
    if (response.status === 401 && address.startsWith("/v1/")) for (const listener of endListeners) listener()
    const error = errorOf(response, value)
    if (error.code === "fresh_sign_in_required" && (await askPerson())) return await call(route, input)
    return { ok: false, error, headers: response.headers, durationMs }
  } catch {
    const error = withoutAnswer(signal?.aborted === true ? "aborted" : "offline")
    return { ok: false, error, headers, durationMs: performance.now() - start }
  }
}
