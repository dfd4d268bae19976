import { DateTime, Duration, Effect, Layer, Option } from "effect"
import { addressFault } from "../../domain/net/publicAddress.ts"
import { version } from "../../domain/version.ts"
import {
  AddressClosed,
  hostClosed,
  type WebhookAnswer,
  WebhookClient,
  WebhookUnreachable
} from "../../services/webhooks/WebhookClient.ts"
import { type AddressRules, allowedAddresses, HostNotAllowed, type Resolve } from "../outgoing/Addresses.ts"
import * as Exchange from "../outgoing/Exchange.ts"
import { signatureHeader } from "./Signature.ts"

export interface WebhookClientOptions {
  /** Permits plain HTTP and the operator's private networks (R53). */
  readonly allowsPrivate: boolean
  readonly timeout?: Duration.Duration | undefined
  readonly resolve?: Resolve | undefined
}

const attemptLimits: Exchange.ExchangeLimits = {
  timeout: Duration.seconds(15),
  maxBodyBytes: 0,
  maxReceivedBytes: 256 * 1024
}

const checkTimeout = Duration.seconds(5)

/** Parses `Retry-After`, in seconds or as a date. */
const retryAfterMs = (header: string | undefined, now: number): number => {
  if (header === undefined) return 0
  if (/^[0-9]{1,9}$/.test(header)) return Number(header) * 1000
  return Option.match(DateTime.make(header), {
    onNone: () => 0,
    onSome: (moment) => Math.max(DateTime.toEpochMillis(moment) - now, 0)
  })
}

const parse = Effect.fnUntraced(function* (text: string, allowsPrivate: boolean) {
  const url = URL.parse(text)
  const fault = addressFault(text, allowsPrivate)
  if (url !== null && fault === undefined) return url
  const reason = fault ?? "is not a valid URL"
  return yield* new AddressClosed({ reason, shown: reason })
})

const closed = ({ reason }: HostNotAllowed) => Effect.fail(new AddressClosed({ reason, shown: hostClosed }))

export const layer = (options: WebhookClientOptions): Layer.Layer<WebhookClient> => {
  const { allowsPrivate, timeout = attemptLimits.timeout } = options
  const rules: AddressRules = { allowsPrivate, resolve: options.resolve }
  const slow = new HostNotAllowed({
    reason: `its name servers did not respond within ${Duration.format(checkTimeout)}`,
    isUnresolved: true
  })
  return Layer.succeed(
    WebhookClient,
    WebhookClient.of({
      check: Effect.fn("WebhookClient.check")(function* (text) {
        const url = yield* parse(text, allowsPrivate)
        yield* allowedAddresses(url, rules).pipe(
          Effect.timeoutOrElse({ duration: checkTimeout, orElse: () => Effect.fail(slow) }),
          Effect.catchTag("HostNotAllowed", closed)
        )
      }),
      post: Effect.fn("WebhookClient.post", { kind: "client" })(function* ({ body, id, secrets, timestamp, url }) {
        const headers = {
          "content-type": "application/json",
          "user-agent": `Quarry/${version}`,
          "webhook-id": id,
          "webhook-timestamp": String(timestamp),
          "webhook-signature": signatureHeader(secrets, id, timestamp, body)
        }
        const request = { method: "POST", url: yield* parse(url, allowsPrivate), headers, body } as const
        const response = yield* Exchange.exchange(request, rules, { ...attemptLimits, timeout }).pipe(
          Effect.catchTags({
            HostNotAllowed: closed,
            ExchangeFailed: ({ reason }) => Effect.fail(new WebhookUnreachable({ reason }))
          })
        )
        const now = yield* DateTime.now
        const answer: WebhookAnswer = {
          status: response.status,
          retryAfterMs: retryAfterMs(response.header("retry-after"), DateTime.toEpochMillis(now))
        }
        return answer
      })
    })
  )
}
