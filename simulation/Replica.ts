import {
  Clock,
  Context,
  Duration,
  Effect,
  Exit,
  type Fiber,
  Layer,
  Random,
  Redacted,
  References,
  Scope,
  Stream
} from "effect"
import {
  HttpBody,
  HttpClientRequest,
  HttpEffect,
  HttpRouter,
  HttpServer,
  HttpServerRequest,
  type HttpServerResponse
} from "effect/http"
import * as MarketplaceProxy from "../src/layers/auth/MarketplaceProxy.ts"
import * as RateLimiterMemory from "../src/layers/memory/RateLimiterMemory.ts"
import * as ResultCacheMemory from "../src/layers/memory/ResultCacheMemory.ts"
import * as Routes from "../src/process/Routes.ts"
import { AccountRemoval } from "../src/services/accounts/AccountRemoval.ts"
import { Credentials } from "../src/services/accounts/Credentials.ts"
import { TrustedProxies } from "../src/services/accounts/TrustedProxies.ts"
import { Billing } from "../src/services/billing/Billing.ts"
import * as BillingWork from "../src/services/billing/BillingWork.ts"
import { PaymentProvider, ProviderUnavailable } from "../src/services/billing/PaymentProvider.ts"
import { Reconciler } from "../src/services/billing/Reconciler.ts"
import { Ledger } from "../src/services/credits/Ledger.ts"
import { type RateLimitDecision, RateLimiter } from "../src/services/credits/RateLimiter.ts"
import { Ids } from "../src/services/Ids.ts"
import { Deployment } from "../src/services/operations/Deployment.ts"
import { Pacer } from "../src/services/providers/Pacer.ts"
import { ProviderStates } from "../src/services/providers/ProviderStates.ts"
import { Providers } from "../src/services/providers/Providers.ts"
import { StoreClock } from "../src/services/StoreClock.ts"
import { Bulk } from "../src/services/search/Bulk.ts"
import { Search } from "../src/services/search/Search.ts"
import { requestId } from "../src/services/telemetry/recording.ts"
import * as EventWork from "../src/services/webhooks/EventWork.ts"
import { WebhookClient } from "../src/services/webhooks/WebhookClient.ts"
import { Webhooks } from "../src/services/webhooks/Webhooks.ts"
import * as ActivityMemory from "../src/testing/ActivityMemory.ts"
import * as InMemory from "../src/testing/InMemory.ts"
import * as MembersMemory from "../src/testing/MembersMemory.ts"
import * as PagesMemory from "../src/testing/PagesMemory.ts"
import * as StandardSettings from "../src/testing/StandardSettings.ts"
import { type Agenda, clockOf, machineContext } from "./customers/Agenda.ts"
import { EmbeddedStore, isMistake } from "./store/EmbeddedStore.ts"
import { collectionsOf } from "./store/memory.ts"
import { buildNow, idsOf, runNow, type Store, type StoreServices, storeServices } from "./store/Store.ts"
import type { Chance } from "./world/Chance.ts"
import { IdleClock } from "./world/IdleClock.ts"
import { callOver, type Link, type Patience, remote, type Server, statement, Unreachable } from "./world/Network.ts"
import { tableOf } from "./world/Providers.ts"
import { webOf } from "./world/Sites.ts"
import type { Upstream } from "./world/Upstreams.ts"

/** The infrastructure and upstreams that all replicas share. */
export interface Surroundings {
  readonly agenda: Agenda
  readonly store: Store
  /** The shared rate limiter, as with Redis. */
  readonly limiter: RateLimiter["Service"]
  readonly upstreams: ReadonlyArray<Upstream>
  readonly pacer: Pacer["Service"]
  readonly provider: PaymentProvider["Service"]
  readonly webhooks: WebhookClient["Service"]
  /** Observes each call that the store starts, and its result. */
  readonly watch: Watch
  /** Runs effects that belong neither to a replica nor to the store, with a correct clock. */
  readonly outside: Server
}

export interface Watch {
  /** Called when a call to the store gets no response. */
  readonly unanswered: (requestId: string, isSettlement: boolean) => void
  /** Called when a method of the store fails for a reason other than the network. */
  readonly mistaken: (method: string, defect: unknown) => void
  /** Called when an upstream receives a call. */
  readonly called: (upstream: Upstream) => void
  /** Called for each decision of the limiter. `isShared` is false if the replica counted by itself. */
  readonly limited: (requestId: string, credential: string, decision: RateLimitDecision, isShared: boolean) => void
}

/** Network links of one replica. */
export interface Links {
  readonly store: Link
  readonly limiter: Link
  readonly provider: Link
}

export interface Incoming {
  readonly method: "GET" | "POST" | "DELETE"
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Receives a response as it is written. */
export interface Answer {
  readonly head: (status: number, headers: Readonly<Record<string, string | undefined>>) => void
  readonly chunk: (text: string) => void
  readonly end: () => void
}

const cacheTtl = Duration.minutes(5)
const maxCachedAnswers = 200
export const origin = "https://quarry.test"
export const demoOrigin = "https://www.quarry.test"
export const marketplaceSecret = "the-secret-of-the-marketplace-proxy"

/** A settlement is retried until its outcome is known, at most for the lease of the hold. */
const untilSettled: Patience = { forMs: 105_000, untilKnown: true }
const settlements: ReadonlySet<string> = new Set(["settle", "settlePart"])
/** Time after which a replica counts by itself if the limiter does not respond. */
const limiterPatience: Patience = { forMs: 150, untilKnown: false }

/** The store's services as seen by a replica: each call goes over its link. */
const remoteStore = (
  { agenda, store, watch }: Surroundings,
  link: Link,
  chance: Chance
): Layer.Layer<StoreServices, never, StoreClock> => {
  const call = <A, E>(name: string, effect: Effect.Effect<A, E>) => {
    const isSettlement = settlements.has(name)
    return callOver(agenda, link, store, effect, isSettlement ? untilSettled : statement).pipe(
      Effect.tapDefect((defect) =>
        Effect.map(requestId, (id) => {
          if (defect instanceof Unreachable) watch.unanswered(id ?? "", isSettlement)
        })
      )
    )
  }
  const services = new Map(store.context.mapUnsafe)
  for (const { key } of storeServices) services.set(key, remote(services.get(key) ?? {}, call))
  const inStore = Layer.succeedContext(Context.makeUnsafe<StoreServices>(services))
  if (!(store instanceof EmbeddedStore)) return inStore
  const own = watched(store.layerOver(link), watch).pipe(Layer.provide(Layer.succeed(Ids, idsOf(chance))))
  return Layer.merge(inStore, own)
}

/** The SQL layers of a replica. Reports unanswered calls and other defects to the auditor. */
const watched = (layer: ReturnType<EmbeddedStore["layerOver"]>, watch: Watch) =>
  Layer.effectContext(
    Effect.map(Layer.build(layer), (context) => {
      const call = <A, E>(name: string, effect: Effect.Effect<A, E>) =>
        Effect.tapDefect(effect, (defect) =>
          Effect.map(requestId, (id) => {
            if (isMistake(defect)) watch.mistaken(name, defect)
            watch.unanswered(id ?? "", settlements.has(name))
          })
        )
      return Context.makeUnsafe<typeof context extends Context.Context<infer S> ? S : never>(
        new Map(Array.from(context.mapUnsafe, ([key, service]) => [key, remote(service, call)]))
      )
    })
  )

/** The payment provider over a link. If it is unreachable, calls fail as in its adapter. */
const remoteProvider = ({ agenda, outside, provider }: Surroundings, link: Link) => {
  const call = <A, E>(_: string, effect: Effect.Effect<A, E>) =>
    callOver(agenda, link, outside, effect).pipe(
      Effect.catchDefect((defect) =>
        // Every method that calls the provider fails with `ProviderUnavailable` if it is unreachable.
        defect instanceof Unreachable
          ? Effect.fail(new ProviderUnavailable({ reason: defect.message, retryAfter: undefined }) as E)
          : Effect.die(defect)
      )
    )
  return Layer.succeed(PaymentProvider, { ...remote(provider, call), verify: provider.verify })
}

/** The shared limiter. A replica that cannot reach it counts by itself (R28). */
const sharedLimiter = ({ agenda, limiter, outside, watch }: Surroundings, link: Link, own: RateLimiter["Service"]) =>
  RateLimiter.of({
    hit: (rate) =>
      Effect.flatMap(requestId, (id) => {
        const note = (isShared: boolean) => (decision: RateLimitDecision) =>
          Effect.sync(() => watch.limited(id ?? "", rate.credential, decision, isShared))
        if (!link.isOpen) return Effect.tap(own.hit(rate), note(false))
        const there = Effect.tap(limiter.hit(rate), note(true))
        return Effect.catchDefect(callOver(agenda, link, outside, there, limiterPatience), () =>
          Effect.tap(own.hit(rate), note(false))
        )
      })
  })

const randomOf = (chance: Chance): Random.Random => ({
  nextIntUnsafe: () => chance.int(),
  nextDoubleUnsafe: () => chance.real()
})

/** Releases expired holds, as the SQL ledger does by itself. */
const sweeper = Layer.effectDiscard(
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const turn = Effect.andThen(Effect.sleep("15 seconds"), Effect.ignoreCause(ledger.sweep))
    yield* Effect.forkScoped(Effect.forever(turn))
  })
)

/** The pacer of all replicas, as with Redis, whose clock is right. */
const sharedPacer = ({ agenda, pacer }: Surroundings) => {
  const clock = clockOf(agenda)
  return Layer.succeed(Pacer, { take: (pace) => Effect.provideService(pacer.take(pace), Clock.Clock, clock) })
}

const servicesOf = (around: Surroundings, links: Links, chance: Chance, machine: Machine) => {
  const own = RateLimiterMemory.layer()
  const calls = { now: () => around.agenda.now, called: around.watch.called }
  const limiter = Layer.effect(
    RateLimiter,
    Effect.map(RateLimiter, (mine) => sharedLimiter(around, links.limiter, mine))
  ).pipe(Layer.provide(own))
  const providers = Layer.unwrap(Effect.map(tableOf(around.upstreams, chance, calls), Providers.layer)).pipe(
    Layer.provide([sharedPacer(around), StandardSettings.layer]),
    Layer.provideMerge(ProviderStates.layer)
  )
  const onClockOf = (work: Work) => Layer.provide(Layer.succeed(Clock.Clock, machine.loops[work]))
  const background = Layer.merge(onClockOf("payments")(BillingWork.layer), onClockOf("holds")(sweeper))
  const billing = Layer.merge(Billing.layer, background).pipe(
    Layer.provide(Reconciler.layer),
    Layer.provide(remoteProvider(around, links.provider))
  )
  return Layer.mergeAll(
    Search.layer,
    Bulk.layer,
    PagesMemory.layer(webOf(chance)),
    Credentials.layer,
    AccountRemoval.layer,
    Webhooks.layer,
    MembersMemory.layer,
    ActivityMemory.layer,
    onClockOf("events")(EventWork.layer()),
    billing
  ).pipe(
    Layer.provide(MarketplaceProxy.layer({ secrets: [Redacted.make(marketplaceSecret)], plan: "growth" })),
    Layer.provideMerge(
      Layer.mergeAll(
        remoteStore(around, links.store, chance),
        limiter,
        ResultCacheMemory.layer({ ttl: cacheTtl, capacity: maxCachedAnswers }),
        providers,
        Layer.succeed(WebhookClient, around.webhooks),
        InMemory.eventEmails,
        Layer.succeed(Ids, idsOf(chance)),
        Layer.succeed(Deployment, { origin, demoOrigin, corsOrigins: [] }),
        StandardSettings.layer,
        Layer.succeed(TrustedProxies, 1),
        HttpServer.layerServices
      )
    )
  )
}

const toRequest = ({ body, headers, method, path }: Incoming): HttpServerRequest.HttpServerRequest =>
  HttpServerRequest.fromClientRequest(
    HttpClientRequest.make(method)(`${origin}${path}`, {
      headers,
      ...(body === undefined ? {} : { body: HttpBody.text(body, "application/json") })
    })
  )

const decoder = new TextDecoder()

const write = ({ body, headers, status }: HttpServerResponse.HttpServerResponse, answer: Answer) => {
  answer.head(status, headers)
  if (body._tag === "Stream") {
    const chunks = Stream.runForEach(body.stream, (bytes) => Effect.sync(() => answer.chunk(decoder.decode(bytes))))
    return Effect.andThen(chunks, Effect.sync(answer.end))
  }
  if (body._tag === "Uint8Array") answer.chunk(decoder.decode(body.body))
  else if (body._tag === "Raw") answer.chunk(String(body.body))
  answer.end()
  return Effect.void
}

type App = Effect.Success<ReturnType<typeof makeApp>>
type Needs = Exclude<Effect.Services<ReturnType<typeof makeApp>>, Scope.Scope>

const makeApp = () =>
  HttpRouter.toHttpEffect(Routes.service).pipe(Effect.provideService(HttpRouter.RouterConfig, Routes.routerConfig))

/** Background work that is idle most of the time. */
export type Work = "payments" | "holds" | "events"

/** Clocks of background loops, which keep sleeping while there is no work. */
type Loops = { readonly [W in Work]: IdleClock }

interface Machine {
  readonly context: Context.Context<StoreClock>
  readonly loops: Loops
}

/** One process of Quarry, from start to end, with the real routes, middleware, handlers and services. */
export class Replica {
  state: "serving" | "draining" | "off" = "serving"
  inFlight = 0
  /** Called when the process ends, so that clients notice their broken connections. */
  readonly connections = new Set<() => void>()
  readonly loops: Loops
  private readonly scope = Scope.makeUnsafe()
  private readonly context: Context.Context<Needs>
  private readonly app: App
  /** The collections that the services keep in memory. */
  readonly kept: ReturnType<typeof collectionsOf>[1]
  private readonly links: Links
  private readonly agenda: Agenda
  private readonly store: Store
  /** Number of requests that run in promises. */
  private inPromises = 0

  constructor(around: Surroundings, links: Links, chance: Chance, skewMs: (now: number) => number) {
    const { agenda } = around
    this.agenda = agenda
    const isOff = () => this.state === "off"
    const clock = clockOf(agenda, { skewMs, isOff })
    this.links = links
    this.store = around.store
    const idle = () => new IdleClock(agenda, clock, isOff)
    this.loops = { payments: idle(), holds: idle(), events: idle() }
    const context = machineContext(agenda, clock).pipe(
      Context.add(References.MinimumLogLevel, "None"),
      Context.add(Random.Random, randomOf(chance)),
      Context.add(StoreClock, { skewMs: () => -Math.round(skewMs(agenda.now)) })
    )
    const layer = servicesOf(around, links, chance, { context, loops: this.loops })
    const [built, kept] = collectionsOf(() => {
      const services = Context.merge(context, buildNow(agenda, layer, this.scope, context))
      return { services, app: runNow(agenda, Scope.provide(makeApp(), this.scope), services) }
    })
    this.context = built.services
    this.app = built.app
    this.kept = kept
  }

  /** Serves a request. The fiber ends with the last byte of the response. Interrupting it disconnects the client. */
  serve(incoming: Incoming, answer: Answer): Fiber.Fiber<void> {
    this.inFlight++
    if (incoming.path === "/mcp") this.countPromises(1)
    const handled = HttpEffect.toHandled(this.app, (_, response) => write(response, answer))
    const fiber = Effect.runForkWith(this.context)(
      Effect.provideService(handled, HttpServerRequest.HttpServerRequest, toRequest(incoming))
    )
    fiber.addObserver(() => {
      this.inFlight--
      if (incoming.path === "/mcp" && this.state !== "off") this.countPromises(-1)
    })
    return fiber
  }

  private countPromises(more: number): void {
    this.inPromises += more
    this.agenda.promises += more
  }

  /** Dies like from SIGKILL: none of its fibers continues, but messages that it has sent arrive. */
  crash(): void {
    this.state = "off"
    this.countPromises(-this.inPromises)
    for (const link of Object.values(this.links)) link.isGone = true
    this.store.left(this.links.store)
    for (const broken of [...this.connections]) broken()
    this.connections.clear()
  }

  /** Shuts down like on SIGTERM: accepts nothing new, completes open requests, and closes its services. */
  stop(done: () => void): void {
    this.state = "draining"
    const end = Effect.gen({ self: this }, function* () {
      while (this.inFlight > 0) yield* Effect.sleep(100)
      yield* Scope.close(this.scope, Exit.void)
    })
    Effect.runForkWith(this.context)(end).addObserver(() => {
      this.crash()
      done()
    })
  }
}
