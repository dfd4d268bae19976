import { type Clock, Duration, Effect, Layer, Redacted, References } from "effect"
import { HttpEffect, HttpIncomingMessage, HttpRouter, HttpServer, type HttpServerRequest } from "effect/http"
import { HttpApi, HttpApiBuilder } from "effect/http-api"
import type { Scope } from "effect/Scope"
import { UpstreamError } from "../../../../src/domain/errors.ts"
import type { SearchRequest } from "../../../../src/domain/search/SearchRequest.ts"
import { AccountGroup } from "../../../../src/http/groups/AccountGroup.ts"
import { PagesGroup } from "../../../../src/http/groups/PagesGroup.ts"
import { SearchGroup } from "../../../../src/http/groups/SearchGroup.ts"
import * as account from "../../../../src/http/handlers/account.ts"
import * as pages from "../../../../src/http/handlers/pages.ts"
import * as search from "../../../../src/http/handlers/search.ts"
import * as Cors from "../../../../src/http/middleware/Cors.ts"
import * as Edge from "../../../../src/http/middleware/Edge.ts"
import * as Gates from "../../../../src/http/middleware/gates.ts"
import * as RequestDecoding from "../../../../src/http/middleware/RequestDecoding.ts"
import { maxBodyBytes } from "../../../../src/http/requests/body.ts"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { KeyStore } from "../../../../src/services/keys/KeyStore.ts"
import { PageSettings } from "../../../../src/services/pages/PageSettings.ts"
import * as InMemory from "../../../../src/testing/InMemory.ts"
import * as StandardSettings from "../../../../src/testing/StandardSettings.ts"
import type { ManualClock } from "./ManualClock.ts"
import type { TestAnswer, TestQuarryOptions } from "./TestQuarry.ts"
import { web } from "./web.ts"

/*
 * The server's own modules: routes, middleware, services and the memory layers that its tests hold to the databases'.
 * Nothing of the service is written a second time here.
 */

/** The routes that accept keys, with the identity of the whole API, because their handlers are those of the whole API. */
const KeyApi = HttpApi.make("quarry").add(SearchGroup, PagesGroup, AccountGroup)

export const routes = Layer.mergeAll(
  HttpApiBuilder.layer(KeyApi).pipe(
    Layer.provide([search.layer, pages.layer, account.layer]),
    Layer.provide([Gates.layer, RequestDecoding.layer])
  ),
  Cors.layer,
  Edge.layer
).pipe(Layer.provide(Layer.succeed(HttpIncomingMessage.MaxBodySize, maxBodyBytes)))

const threeResults: TestAnswer = [1, 2, 3].map((number) => ({
  url: `https://www.example.com/${number}`,
  title: `Title ${number}`,
  snippet: `Snippet ${number}`
}))

const pageTimeout = Duration.seconds(15)

const providerFailed = new UpstreamError({ message: "The search provider could not be reached." })

const providers = (answer: NonNullable<TestQuarryOptions["search"]>) =>
  InMemory.providers(
    Effect.fnUntraced(function* ({ source: _, ...request }: SearchRequest) {
      const rows = yield* Effect.promise(async () => answer(request))
      if (rows === "never") return yield* Effect.never
      if (rows === "upstream_error") return yield* providerFailed
      return rows.map(({ snippet = "", title, url }) => ({ snippet, title, url }))
    })
  )

const services = (options: TestQuarryOptions) => {
  const { cacheTtlMs = 300_000, corsOrigins = [], page = () => "unreachable", search = () => threeResults } = options
  const cacheTtl = Duration.millis(cacheTtlMs)
  const pageSettings = Layer.succeed(PageSettings, { isOn: true, timeout: pageTimeout, cacheTtl })
  const settings = Layer.merge(StandardSettings.layer, pageSettings)
  return InMemory.layer(providers(search), { cacheTtl, corsOrigins, web: web(page), settings }).pipe(
    Layer.provideMerge(HttpServer.layerServices)
  )
}

/** Effect's clock on the test's. */
export const effectClock = (clock: ManualClock): Clock.Clock => {
  const nanos = () => BigInt(Math.round(clock.now() * 1e6))
  return {
    currentTimeMillisUnsafe: clock.now,
    currentTimeMillis: Effect.sync(clock.now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.callback((resume) => {
        const cancel = clock.after(Duration.toMillis(duration), () => resume(Effect.void))
        return Effect.sync(cancel)
      })
  }
}

const maxLogEntries = 10_000

/** The running service: its requests, and the account that its key belongs to. */
export const makeService = Effect.fnUntraced(
  function* (options: TestQuarryOptions) {
    const { balance = 0, plan = "trial", quota } = options
    const context = yield* Layer.build(services(options))
    return yield* Effect.provideContext(
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const keys = yield* KeyStore
        const ledger = yield* Ledger
        const log = yield* QueryLog
        const account = yield* accounts.create({ plan, quota, email: "test@example.com" })
        const grant = (credits: number) => Effect.asVoid(ledger.grant(account.id, credits, "for a test"))
        if (balance > 0) yield* grant(balance)
        const { secret } = yield* keys.create(account.id, { label: "test", mode: "test" })
        const app = yield* HttpRouter.toHttpEffect(routes)
        const handler = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope>(
          yield* Effect.context<never>()
        )(app)
        return {
          handler: (request: Request) => handler(request),
          apiKey: Redacted.value(secret),
          grant,
          allowance: ledger.allowance(account),
          charged: log.recent(account.id, maxLogEntries)
        }
      }),
      context
    )
  },
  Effect.provideService(References.MinimumLogLevel, "None")
)
