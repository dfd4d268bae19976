import { lookup, Resolver } from "node:dns/promises"
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http"
import { request as httpsRequest, type RequestOptions } from "node:https"
import type { LookupFunction } from "node:net"
import { DateTime, Duration, Effect, Layer, Option, Predicate } from "effect"
import { hostOf } from "../../domain/Network.ts"
import { addressFault, isAddress, isPublicAddress } from "../../domain/publicAddress.ts"
import { version } from "../../domain/version.ts"
import { AddressClosed, type WebhookAnswer, WebhookClient, WebhookUnreachable } from "../../services/WebhookClient.ts"
import { signatureHeader } from "./Signature.ts"

/** The addresses of a name; none where it has none. */
export type Resolve = (host: string) => Promise<ReadonlyArray<string>>

export interface WebhookClientOptions {
  /** Lets requests leave for plain http and for the operator's own networks (R53). */
  readonly allowsPrivate: boolean
  readonly timeout?: Duration.Duration | undefined
  readonly resolve?: Resolve | undefined
}

/** For the name, the connection and the head of the answer together. */
const defaultTimeout = Duration.seconds(15)

/** Of the head of an answer. A receiver's body is not read. */
const maxHeadBytes = 16 * 1024

const resolverTimeoutMs = 2_000
const resolverTries = 2

/**
 * Asks the name servers without the threads that Node looks names up with: there are four for the whole process, and a
 * name whose servers are silent would hold one for many seconds.
 */
const resolvePublic: Resolve = async (host) => {
  const resolver = new Resolver({ timeout: resolverTimeoutMs, tries: resolverTries })
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  return found.flatMap((it) => (it.status === "fulfilled" ? it.value : []))
}

/** Names of the operator's own network may stand in files of this machine. */
const resolveAny: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address)

const closed = new AddressClosed({ reason: "its address is not on the public internet" })
const unknownName = new AddressClosed({ reason: "its name has no address" })

interface Rules {
  readonly allowsPrivate: boolean
  readonly resolve: Resolve
}

/** The addresses behind a URL, all of which may be connected to. */
const openAddresses = Effect.fnUntraced(function* (url: string, { allowsPrivate, resolve }: Rules) {
  const parsed = URL.parse(url)
  const fault = addressFault(url, allowsPrivate)
  if (parsed === null || fault !== undefined) return yield* new AddressClosed({ reason: fault ?? "is no address" })
  const host = hostOf(parsed)
  const addresses = isAddress(host)
    ? [host]
    : yield* Effect.tryPromise({ try: () => resolve(host), catch: () => unknownName })
  if (addresses.length === 0) return yield* unknownName
  // One closed address among open ones is enough: which of them would be connected to is not ours to choose.
  if (!allowsPrivate && !addresses.every(isPublicAddress)) return yield* closed
  return { url: parsed, addresses }
})

/** Answers Node's question for a name with the addresses that were judged: it asks nobody else. */
const answerWith =
  (addresses: ReadonlyArray<string>): LookupFunction =>
  (_, options, callback) => {
    const all = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    if (options.all === true) callback(null, all)
    else callback(null, all[0]?.address ?? "", all[0]?.family)
  }

const failureOf = (error: unknown): WebhookUnreachable =>
  new WebhookUnreachable({
    reason:
      Predicate.hasProperty(error, "code") && typeof error.code === "string" ? error.code : "the connection failed"
  })

/** Milliseconds from `Retry-After`, which is in seconds or a date. */
const retryAfterMs = (header: string | undefined, now: number): number => {
  if (header === undefined) return 0
  if (/^[0-9]{1,9}$/.test(header)) return Number(header) * 1000
  return Option.match(DateTime.make(header), {
    onNone: () => 0,
    onSome: (moment) => Math.max(DateTime.toEpochMillis(moment) - now, 0)
  })
}

interface Head {
  readonly status: number
  readonly retryAfter: string | undefined
}

/** One request on a connection of its own, which is closed as soon as the head of the answer is there. */
const exchange = (
  url: URL,
  addresses: ReadonlyArray<string>,
  headers: Readonly<Record<string, string>>,
  body: string
): Effect.Effect<Head, WebhookUnreachable> =>
  Effect.callback((resume) => {
    const options: RequestOptions = {
      method: "POST",
      headers: { ...headers, "content-length": String(Buffer.byteLength(body)), connection: "close" },
      agent: false,
      lookup: answerWith(addresses),
      maxHeaderSize: maxHeadBytes
    }
    const onAnswer = (answer: IncomingMessage) => {
      resume(Effect.succeed({ status: answer.statusCode ?? 0, retryAfter: answer.headers["retry-after"] }))
      answer.destroy()
    }
    const sent: ClientRequest =
      url.protocol === "http:" ? httpRequest(url, options, onAnswer) : httpsRequest(url, options, onAnswer)
    sent.on("error", (error) => resume(Effect.fail(failureOf(error))))
    sent.end(body)
    return Effect.sync(() => sent.destroy())
  })

export const layer = (options: WebhookClientOptions): Layer.Layer<WebhookClient> => {
  const { allowsPrivate, timeout = defaultTimeout } = options
  const rules: Rules = { allowsPrivate, resolve: options.resolve ?? (allowsPrivate ? resolveAny : resolvePublic) }
  const late = new WebhookUnreachable({ reason: `no answer within ${Duration.toSeconds(timeout)} seconds` })
  return Layer.succeed(
    WebhookClient,
    WebhookClient.of({
      check: (url) =>
        openAddresses(url, rules).pipe(
          Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(unknownName) }),
          Effect.asVoid
        ),
      post: Effect.fn("WebhookClient.post", { kind: "client" })(function* ({ body, id, secrets, timestamp, url }) {
        const headers = {
          "content-type": "application/json",
          "user-agent": `Quarry/${version}`,
          "webhook-id": id,
          "webhook-timestamp": String(timestamp),
          "webhook-signature": signatureHeader(secrets, id, timestamp, body)
        }
        const head = yield* Effect.flatMap(openAddresses(url, rules), ({ addresses, url }) =>
          exchange(url, addresses, headers, body)
        ).pipe(Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(late) }))
        const now = yield* DateTime.now
        const answer: WebhookAnswer = {
          status: head.status,
          retryAfterMs: retryAfterMs(head.retryAfter, DateTime.toEpochMillis(now))
        }
        return answer
      })
    })
  )
}
