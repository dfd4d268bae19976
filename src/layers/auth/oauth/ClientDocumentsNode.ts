import { Duration, Effect, Layer, Result } from "effect"
import { documentUrl, readClientDocument } from "../../../domain/accounts/ClientMetadata.ts"
import { ClientDocuments, ClientDocumentUnusable } from "../../../services/accounts/ClientDocuments.ts"
import type { ResponseHead } from "../../outgoing/Exchange.ts"
import { limitsOf, makeSend, type SendOptions } from "../../pages/PageFetcherNode.ts"

const limits = {
  timeout: Duration.seconds(5),
  documentBytes: 16 * 1024,
  /** Anyone can name an address. Further fetches wait, within their timeout. A quarter at most is for one requester. */
  concurrent: 16,
  /** Saves a site from a fetch for each sign-in, even if it forbids caching. */
  minFresh: Duration.minutes(5),
  /** Far below the day after which an app that nobody authorized is removed. */
  maxFresh: Duration.hours(1)
}

const unusable = (reason: string) => Effect.fail(new ClientDocumentUnusable({ reason }))

const isJson = ({ header }: ResponseHead): boolean =>
  /^application\/(?:json|[a-z0-9.-]+\+json)\s*(?:;|$)/i.test(header("content-type") ?? "")

/** Reads `max-age` (RFC 9111 section 5.2.2.1). */
const freshnessOf = ({ header }: ResponseHead): Duration.Duration => {
  const [, seconds = "0"] = /(?:^|[\s,])max-age="?(\d{1,9})\b/i.exec(header("cache-control") ?? "") ?? []
  return Duration.clamp(Duration.seconds(Number(seconds)), { minimum: limits.minFresh, maximum: limits.maxFresh })
}

/** Fetches from public addresses only. Follows no redirect, because the address is the app's identity. */
export const layer = (options: SendOptions): Layer.Layer<ClientDocuments> =>
  Layer.effect(
    ClientDocuments,
    Effect.gen(function* () {
      const send = makeSend(options, { accept: "application/json", slots: limits.concurrent })
      const exchangeLimits = limitsOf(limits.timeout, limits.documentBytes)

      const get = Effect.fnUntraced(function* (clientId: string, requester = "") {
        const url = documentUrl(clientId)
        if (url === undefined) return yield* unusable("its address is not a valid document address")
        const wantsBody = (head: ResponseHead): boolean => head.status === 200 && isJson(head)
        const response = yield* send({ url, wantsBody, payer: requester }, exchangeLimits).pipe(
          Effect.catch(({ reason }) => unusable(reason))
        )
        if (response.status !== 200) return yield* unusable(`status ${response.status}`)
        if (!isJson(response)) return yield* unusable("it is not JSON")
        const document = readClientDocument(clientId, response.body.toString("utf8"))
        if (Result.isFailure(document)) return yield* unusable(document.failure.message)
        return { ...document.success, freshFor: freshnessOf(response) }
      })

      return ClientDocuments.of({
        fetch: Effect.fn("ClientDocuments.fetch", { kind: "client" })(
          get,
          Effect.timeoutOrElse({ duration: limits.timeout, orElse: () => unusable("timed_out") })
        )
      })
    })
  )
