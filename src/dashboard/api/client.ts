import type { Answer, Input, Query, RouteName } from "./routes.ts"

/** An error of the API, by its code. `offline` and `aborted` are the browser's own: there was no answer. */
export interface ApiError {
  readonly code: string
  readonly message: string
  /** 0 without an answer. */
  readonly status: number
  readonly requestId: string | undefined
  /** The wait until another try, where the API says so. */
  readonly retryAfterSeconds: number | undefined
  /** The fields that were wrong, with a message for each. */
  readonly issues: Readonly<Record<string, string>>
  /** The whole body, for pages that show it. */
  readonly body: unknown
}

/** The text for an error at the top of a form: the faults of its fields, else the error's own message. */
export const explain = ({ issues, message }: ApiError): string => Object.values(issues).join(". ") || message

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

/** Calls a function when the API no longer knows the session. */
export const onSessionEnd = (listener: Listener): void => void endListeners.add(listener)

const noIssues = {}

const withoutAnswer = (code: "offline" | "aborted"): ApiError => ({
  code,
  message: code === "offline" ? "Quarry could not be reached. Check your connection." : "The request was called off.",
  status: 0,
  requestId: undefined,
  retryAfterSeconds: undefined,
  issues: noIssues,
  body: undefined
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
    message: textOf(body, "message") ?? `Quarry answered ${response.status}.`,
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: seconds > 0 ? seconds : undefined,
    issues: issuesOf(body),
    body
  }
}

/** The query of an address, with a leading `?`; empty without parameters. */
export const queryText = (query: Query): string => {
  const entries = Object.entries(query).flatMap(
    ([name, value]): Array<[string, string]> => (value === undefined || value === "" ? [] : [[name, String(value)]])
  )
  return entries.length === 0 ? "" : `?${new URLSearchParams(entries)}`
}

/** The method and the address of a call. */
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

/** Calls a route with the session of this browser. Never rejects: an error is a value. */
export const call = async <R extends RouteName>(route: R, input: Input<R>): Promise<Result<Answer<R>>> => {
  const {
    body,
    signal,
    ...rest
  }: { body?: object; signal?: AbortSignal; params?: Record<string, string>; query?: Query } = input
  const { address, method } = addressOf(route, rest)
  const begin = performance.now()
  const headers = new Headers()
  try {
    const response = await fetch(address, {
      method,
      headers: {
        accept: "application/json",
        // Tells these requests from those of other sites where the browser does not (R25).
        "x-quarry-dashboard": "1",
        ...(body && { "content-type": "application/json" })
      },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal })
    })
    const value = await readBody(response)
    const durationMs = performance.now() - begin
    // The table of routes says what a successful answer holds: it is the API's own definition.
    if (response.ok) return { ok: true, value: value as Answer<R>, headers: response.headers, durationMs }
    if (response.status === 401 && address.startsWith("/v1/")) for (const listener of endListeners) listener()
    return { ok: false, error: errorOf(response, value), headers: response.headers, durationMs }
  } catch {
    const error = withoutAnswer(signal?.aborted === true ? "aborted" : "offline")
    return { ok: false, error, headers, durationMs: performance.now() - begin }
  }
}
