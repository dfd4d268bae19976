import { Context, Duration, Effect, Layer, type Redacted, References, Scope } from "effect"
import { HttpClient, HttpEffect, HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Allowance } from "../../../../src/domain/credits/Allowance.ts"
import type { Plan } from "../../../../src/domain/credits/Plan.ts"
import type { UpstreamError, UpstreamTimeout } from "../../../../src/domain/errors.ts"
import type { UpstreamRow } from "../../../../src/domain/search/Organic.ts"
import type { SearchRequest } from "../../../../src/domain/search/SearchRequest.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { QueryLog, type StoredLogEntry } from "../../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { KeyStore } from "../../../../src/services/keys/KeyStore.ts"
import { Providers } from "../../../../src/services/providers/Providers.ts"
import * as InMemory from "../../../../src/testing/InMemory.ts"
import { routes } from "../testing/service.ts"
import { QuarryClient } from "./QuarryClient.ts"

export { UpstreamError, UpstreamTimeout } from "../../../../src/domain/errors.ts"
export { Providers, type SearchRequest, type UpstreamRow }

/*
 * A Quarry inside a test, on the clock of the test. It is the server's own modules: routes, middleware, services and the
 * memory layers that its conformance suites hold to the databases. A request runs in the fiber of its caller, so that
 * `TestClock.adjust` finds every sleep of it, and one clock moves the client and the service.
 */

export interface TestQuarryOptions {
  /** The plan of the account; `trial`, with its 100 credits, if absent. */
  readonly plan?: Plan
  /** Credits of a period instead of the plan's. Required for the plan `custom`. */
  readonly quota?: number
  /** Pack credits. */
  readonly balance?: number
  /** Lifetime of results in the cache: five minutes if absent, 0 for no cache. */
  readonly cacheTtl?: Duration.Input
}

/** Providers whose results a function returns. They are ranked, de-duplicated and cut to `num` as in production. */
export const providers = (
  search: (request: SearchRequest) => Effect.Effect<ReadonlyArray<UpstreamRow>, UpstreamError | UpstreamTimeout>
): Layer.Layer<Providers> => InMemory.providers(search)

/** The address of the service for clients that a test makes itself, over `TestQuarry.httpClient`. */
const baseUrl = "http://quarry.test"

const maxLogEntries = 10_000

export class TestQuarry extends Context.Service<
  TestQuarry,
  {
    readonly baseUrl: string
    /** The key of the account. */
    readonly apiKey: Redacted.Redacted
    /** Sends every request to the service of the test, without a socket. */
    readonly httpClient: HttpClient.HttpClient
    /** The account's quota, the credits spent, and its pack credits. */
    readonly account: Effect.Effect<Allowance>
    /** Adds pack credits. */
    readonly grant: (credits: number) => Effect.Effect<void>
    /** The query log: every charged search, newest first. */
    readonly charged: Effect.Effect<ReadonlyArray<StoredLogEntry>>
  }
>()("@quarry/client/testing/effect/TestQuarry") {
  /** A Quarry with one account, and a client with its key. The providers are the test's. */
  static readonly layer = (options: TestQuarryOptions = {}): Layer.Layer<TestQuarry | QuarryClient, never, Providers> =>
    Layer.effectContext(makeTestQuarry(options)).pipe(Layer.provide(Layer.succeed(References.MinimumLogLevel, "None")))
}

/** Runs the service's app for one request, in the caller's fiber. */
const exchange = (app: HttpApp, scope: Scope.Scope): HttpClient.HttpClient =>
  HttpClient.make((request, url) =>
    Effect.gen(function* () {
      const answered: { response?: HttpServerResponse.HttpServerResponse } = {}
      const keep = (_: unknown, response: HttpServerResponse.HttpServerResponse) =>
        Effect.sync(() => {
          answered.response = HttpEffect.scopeTransferToStream(response)
        })
      const served = HttpServerRequest.fromClientRequest(request).modify({ url: url.pathname + url.search })
      yield* HttpEffect.toHandled(app, keep).pipe(
        Effect.provideService(HttpServerRequest.HttpServerRequest, served),
        Effect.provideService(Scope.Scope, scope),
        // The access log of the service is not the test's.
        Effect.provideService(References.MinimumLogLevel, "None")
      )
      if (answered.response === undefined) return yield* Effect.die(new Error("The service sent no response."))
      return HttpServerResponse.toClientResponse(answered.response, { request })
    })
  )

type HttpApp = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  unknown,
  HttpServerRequest.HttpServerRequest | Scope.Scope
>

const makeTestQuarry = Effect.fnUntraced(function* ({
  balance = 0,
  cacheTtl,
  plan = "trial",
  quota
}: TestQuarryOptions) {
  const providers = Layer.succeed(Providers, yield* Providers)
  const ttl = cacheTtl === undefined ? {} : { cacheTtl: Duration.fromInputUnsafe(cacheTtl) }
  const services = yield* Layer.build(InMemory.layer(providers, ttl).pipe(Layer.provideMerge(HttpServer.layerServices)))
  return yield* Effect.provideContext(
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const ledger = yield* Ledger
      const log = yield* QueryLog
      const account = yield* Effect.orDie(accounts.create({ plan, quota, email: "test@example.com" }))
      const grant = (credits: number) => Effect.orDie(Effect.asVoid(ledger.grant(account.id, credits, "for a test")))
      if (balance > 0) yield* grant(balance)
      const keys = yield* KeyStore
      const { secret: apiKey } = yield* Effect.orDie(keys.create(account.id, { label: "test", mode: "test" }))
      const httpClient = exchange(yield* HttpRouter.toHttpEffect(routes), yield* Effect.scope)
      const client = yield* Effect.provideService(
        QuarryClient.make({ baseUrl, apiKey }),
        HttpClient.HttpClient,
        httpClient
      )
      return Context.make(QuarryClient, client).pipe(
        Context.add(TestQuarry, {
          baseUrl,
          apiKey,
          httpClient,
          account: Effect.orDie(ledger.allowance(account)),
          grant,
          charged: log.recent(account.id, maxLogEntries)
        })
      )
    }),
    services
  )
})
