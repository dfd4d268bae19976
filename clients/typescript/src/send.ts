import type { ApiError } from "./api.ts"
import type { Call, Clock } from "./Call.ts"
import type { QuarryError } from "./errors.ts"
import { type Meta, metaOf } from "./meta.ts"

/** The address of a deployment, and what every request to it has. */
export interface Connection {
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  readonly clock: Clock
}

export interface Outgoing<A> {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Of a POST. */
  readonly body?: string
  /** True where a repetition costs nothing. */
  readonly isFree?: boolean
  /** Reads a 200. */
  readonly read: (response: Response) => Promise<A>
  readonly onAnswer: (meta: Meta) => void
}

/** The end of an attempt that was not answered 200. */
interface Failed {
  readonly error: QuarryError
  /** True where a repetition cannot be charged a second time. */
  readonly isRepeatable: boolean
  /** True where at most one repetition makes sense. */
  readonly isAbsent?: boolean
  readonly retryAfterMs?: number | undefined
}

/** Statuses of answers that were not charged and may be others a moment later. */
const isPassing = (status: number): boolean => status === 429 || status === 500 || status === 503

/** The reason of the platform for a failed `fetch`, such as `ECONNREFUSED`, or undefined where it has no code. */
const codeOf = (cause: unknown): string | undefined => {
  const { code } = Object(Object(cause).cause)
  return typeof code === "string" ? code : undefined
}

/** Codes of connections that were never made, so that nothing was sent. */
const unsentCodes: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ENOTFOUND: "its name does not exist",
  EAI_AGAIN: "its name could not be resolved"
}

/** A server that refuses connections or does not exist is retried once, in case it is just being restarted. */
const isAbsent = (code: string | undefined): boolean => code === "ECONNREFUSED" || code === "ENOTFOUND"

/** An address without the credentials and the path that it may have. */
const originOf = (baseUrl: string): string => {
  try {
    return new URL(baseUrl).origin
  } catch {
    return "the server"
  }
}

/** The message for a `fetch` that failed, with the address and the cause. */
const failureOf = (baseUrl: string, cause: unknown): string => {
  const origin = originOf(baseUrl)
  const code = codeOf(cause)
  const reason = unsentCodes[code ?? ""]
  if (reason !== undefined) return `Could not connect to ${origin}: ${reason} (${code}). Check baseUrl.`
  const { message = Object(cause).message ?? cause } = Object(Object(cause).cause)
  return `No complete response of Quarry arrived from ${origin}: ${message}.`
}

/** The headers say seconds or a date. */
const retryAfterMsOf = ({ headers }: Response, clock: Clock): number | undefined => {
  const text = headers.get("retry-after")
  if (text === null) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - clock.now()
  return ms >= 0 ? ms : undefined
}

/** The longest answer is a batch of pages, which has less than half of it. */
const maxBodyBytes = 64 * 2 ** 20

/** Reads a body, and ends its connection where a server sends without end. */
export const readText = async ({ body }: Response): Promise<string> => {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ""
  for (let bytes = 0; ; ) {
    const chunk = await reader?.read()
    if (chunk === undefined || chunk.done) return text + decoder.decode()
    bytes += chunk.value.length
    if (bytes > maxBodyBytes) {
      await reader?.cancel()
      throw new TypeError(`The body is longer than ${maxBodyBytes} bytes`)
    }
    text += decoder.decode(chunk.value, { stream: true })
  }
}

const envelopeOf = (text: string): ApiError | undefined => {
  try {
    const body = JSON.parse(text)
    return typeof body.error === "string" && typeof body.message === "string" ? body : undefined
  } catch {
    return undefined
  }
}

/** A message for an address that redirects, and the address it leads to, without a query that may have secrets. */
const redirectOf = (baseUrl: string, { headers, status, type, url }: Response): string | undefined => {
  // Browsers hide the status and the location.
  if (type !== "opaqueredirect" && (status < 300 || status >= 400 || status === 304)) return undefined
  const location = headers.get("location") ?? ""
  let target = "another address"
  try {
    const { origin, pathname } = new URL(location, url === "" ? baseUrl : url)
    if (location !== "") target = `${origin}${pathname}`.slice(0, 200)
  } catch {}
  return (
    `No response of Quarry arrived from ${originOf(baseUrl)}: it redirects to ${target}, and redirects are not followed, ` +
    "because the key would be lost or go along. Set baseUrl to the address where Quarry is."
  )
}

/** `isSafe` where a repetition cannot be charged again, whatever became of the request. */
const judge = (
  call: Call,
  meta: Meta,
  text: string,
  { isSafe, retryAfterMs }: { readonly isSafe: boolean; readonly retryAfterMs: number | undefined }
): Failed => {
  const { status } = meta
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs }
  const envelope = envelopeOf(text)
  if (envelope !== undefined) {
    const isRepeatable = isPassing(status) || envelope.error === "idempotency_in_progress"
    return { error: call.error({ ...envelope, ...wait, meta }), isRepeatable, ...wait }
  }
  // A proxy's own page, behind which a response may be lost.
  const message = `The response is not from Quarry: status ${status}.`
  const isRepeatable = status === 429 || status === 503 || (status >= 500 && isSafe)
  return { error: call.error({ error: "network", message, status, ...wait, meta }), isRepeatable, ...wait }
}

/** Sends a request once. */
const attempt = async <A>(
  { baseUrl, clock, fetch = globalThis.fetch, headers }: Connection,
  call: Call,
  outgoing: Outgoing<A>
): Promise<{ readonly value: A } | Failed> => {
  call.check()
  call.attempts++
  const { body, isFree, onAnswer, path, read } = outgoing
  const { idempotencyKey, signal } = call
  const key = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }
  const isSafe = isFree === true || idempotencyKey !== undefined
  // Throws for texts that no header can carry, which no other attempt mends.
  const allHeaders = new Headers({ ...headers, ...outgoing.headers, ...key })
  let response: Response
  let content: { readonly value: A } | { readonly text: string }
  try {
    // Called without an object, as workers demand.
    response = await fetch(baseUrl + path, {
      headers: allHeaders,
      signal,
      redirect: "manual",
      ...(body === undefined ? {} : { method: "POST", body })
    })
    content = response.status === 200 ? { value: await read(response) } : { text: await readText(response) }
  } catch (cause) {
    call.check()
    const error = call.error({ error: "network", message: failureOf(baseUrl, cause) }, cause)
    const code = codeOf(cause)
    return { error, isRepeatable: isSafe || unsentCodes[code ?? ""] !== undefined, isAbsent: isAbsent(code) }
  }
  const meta = metaOf(response)
  onAnswer(meta)
  if ("value" in content) return content
  const redirect = redirectOf(baseUrl, response)
  if (redirect !== undefined) {
    const { status } = meta
    return { error: call.error({ error: "network", message: redirect, status, meta }), isRepeatable: false }
  }
  return judge(call, meta, content.text, { isSafe, retryAfterMs: retryAfterMsOf(response, clock) })
}

/** Sends a request until it is answered, or fails in a way that a repetition cannot mend. */
export const send = async <A>(connection: Connection, call: Call, outgoing: Outgoing<A>): Promise<A> => {
  for (;;) {
    const outcome = await attempt(connection, call, outgoing)
    if ("value" in outcome) return outcome.value
    if (outcome.isAbsent === true && call.attempts > 1) throw outcome.error
    if (!outcome.isRepeatable || !(await call.backOff(outcome.retryAfterMs))) throw outcome.error
  }
}
