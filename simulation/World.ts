import { Context, Effect, type Fiber, Layer, References, Scope } from "effect"
import * as PacerMemory from "../src/layers/memory/PacerMemory.ts"
import * as RateLimiterMemory from "../src/layers/memory/RateLimiterMemory.ts"
import { PaymentProvider } from "../src/services/billing/PaymentProvider.ts"
import { RateLimiter } from "../src/services/credits/RateLimiter.ts"
import { Pacer } from "../src/services/providers/Pacer.ts"
import * as PaymentProviderMemory from "../src/testing/PaymentProviderMemory.ts"
import { ProviderLevers } from "../src/testing/PaymentProviderMemory.ts"
import type { Auditor } from "./Auditor.ts"
import { Agenda, clockOf, machineContext } from "./customers/Agenda.ts"
import { Events } from "./Events.ts"
import { type Links, Replica, type Watch, type Work } from "./Replica.ts"
import type { Database } from "./store/Database.ts"
import { EmbeddedStore } from "./store/EmbeddedStore.ts"
import { buildNow, type Store, StoreInMemory } from "./store/Store.ts"
import { Chance } from "./world/Chance.ts"
import { type Line, Link, type Server, type Weather } from "./world/Network.ts"
import { Trace } from "./world/Trace.ts"
import { type Upstream, upstreamsOf } from "./world/Upstreams.ts"

export interface Options {
  readonly seed: number
  readonly days: number
  readonly replicas: number
  readonly customers: number
  /** Requests per customer and year. */
  readonly requests: number
  /** Whether faults occur. */
  readonly faults: boolean
  /** Ends the run after this many events. */
  readonly maxEvents?: number | undefined
  /** The store of the replicas. In memory by default. */
  readonly store?: "memory" | "embedded" | undefined
  readonly write?: ((line: string) => void) | undefined
  /** An additional actor of a test, called with the world before its time starts. */
  readonly script?: ((world: World) => void) | undefined
}

export const startAt = Date.parse("2027-01-01T00:00:00Z")
export const dayMs = 86_400_000
/** Everyone visits in the same half hour of the day, when most faults occur. Otherwise they would rarely coincide. */
export const rushStartMs = 12 * 3_600_000
export const rushMs = 1_800_000
/** Time after a fault during which its effects may still be visible. */
const settlingMs = 600_000

const calmWeather: Weather = { meanMs: 2, loss: 0, cut: 0, halfOpen: 0, duplicate: 0 }
const internetWeather: Weather = { meanMs: 30, loss: 0.003, cut: 0.004, halfOpen: 0.001, duplicate: 0 }

export interface Slot {
  readonly name: string
  readonly lines: { readonly [Name in keyof Links]: Line }
  /** Error of the machine's clock: the offset at the start, and its change per day. */
  readonly skewMs: number
  readonly driftMsADay: number
  replica: Replica | undefined
  starts: number
}

/** All machines of a deployment, and the networks between them. */
export class World {
  readonly agenda: Agenda
  readonly trace: Trace
  readonly store: Store
  readonly slots: ReadonlyArray<Slot>
  readonly upstreams: ReadonlyArray<Upstream>
  readonly levers: ProviderLevers["Service"]
  readonly internet: Link
  readonly outside: Server
  readonly events: Events
  readonly options: Options
  readonly endAt: number
  /** Number of times that the store has lost writes. */
  epoch = 0
  /** End of the latest fault. */
  brokenUntil = startAt
  private readonly provider: PaymentProvider["Service"]
  private readonly limiter: RateLimiter["Service"]
  private readonly pacer: Pacer["Service"]
  private readonly context: Context.Context<never>
  private readonly balancer: Chance
  private readonly watch: Watch

  constructor(options: Options, auditor: Auditor, agenda = new Agenda(startAt), database?: Database) {
    this.agenda = agenda
    this.options = options
    this.watch = auditor.watch
    this.endAt = startAt + options.days * dayMs
    this.trace = new Trace(() => agenda.now, options.write)
    this.context = machineContext(agenda, clockOf(agenda)).pipe(Context.add(References.MinimumLogLevel, "None"))
    this.outside = { run: (effect, done) => void Effect.runForkWith(this.context)(effect).addObserver(done) }
    const chance = this.chance("store")
    this.store =
      database === undefined ? new StoreInMemory(agenda, chance) : new EmbeddedStore(agenda, chance, database)
    this.balancer = this.chance("balancer")
    const shared = Layer.mergeAll(PaymentProviderMemory.layer, RateLimiterMemory.layer(), PacerMemory.layer)
    const services = buildNow(agenda, shared, Scope.makeUnsafe(), this.context)
    this.provider = Context.get(services, PaymentProvider)
    this.levers = Context.get(services, ProviderLevers)
    this.limiter = Context.get(services, RateLimiter)
    this.pacer = Context.get(services, Pacer)
    this.internet = new Link(agenda, this.chance("internet"), {
      isOpen: true,
      weather: options.faults ? internetWeather : { ...calmWeather, meanMs: 30 }
    })
    this.events = new Events(this, auditor)
    this.upstreams = upstreamsOf()
    this.slots = Array.from({ length: options.replicas }, (_, index) => this.slotOf(`replica-${index + 1}`))
    for (const slot of this.slots) this.start(slot)
  }

  /** Returns a separate random stream for each name. */
  chance(name: string): Chance {
    return new Chance(`${this.options.seed} ${name}`)
  }

  private slotOf(name: string): Slot {
    const chance = this.chance(name)
    const line = (): Line => ({ isOpen: true, weather: calmWeather })
    const isWrong = this.options.faults && chance.isTrue(0.5)
    return {
      name,
      lines: { store: line(), limiter: line(), provider: line() },
      skewMs: isWrong ? chance.between(-3_600_000, 3_600_000) : 0,
      driftMsADay: isWrong ? chance.between(-2_000, 2_000) : 0,
      replica: undefined,
      starts: 0
    }
  }

  start(slot: Slot): void {
    const { agenda, events, limiter, outside, pacer, provider, store, upstreams, watch } = this
    slot.starts++
    const chance = this.chance(`${slot.name} ${slot.starts}`)
    const { lines } = slot
    const links: Links = {
      store: new Link(agenda, chance, lines.store),
      limiter: new Link(agenda, chance, lines.limiter),
      provider: new Link(agenda, chance, lines.provider)
    }
    const skew = (now: number) => slot.skewMs + (slot.driftMsADay * (now - startAt)) / dayMs
    const around = { agenda, store, limiter, upstreams, pacer, provider, watch, outside, webhooks: events.client }
    slot.replica = new Replica(around, links, chance, skew)
    this.trace.add(slot.name, "starts")
  }

  /** The replica for the next request. */
  readonly pickReplica = (): Replica | undefined => {
    const serving = this.slots.flatMap(({ replica }) => (replica?.state === "serving" ? [replica] : []))
    return serving.length === 0 ? undefined : this.balancer.pick(serving)
  }

  /** Tells the loops of all replicas that there may be work of this kind for `forMs`. */
  wake(work: Work, forMs: number): void {
    for (const { replica } of this.slots) replica?.loops[work].wake(forMs)
  }

  /** True once the last fault was long enough ago that everything must be consistent. */
  get isCalm(): boolean {
    return this.agenda.now > this.brokenUntil + settlingMs
  }

  /** Runs an actor of the simulation: a customer, the operator, or the source of faults. */
  act(actor: Effect.Effect<void>, onEnd: (failure: unknown) => void): Fiber.Fiber<void> {
    const fiber = Effect.runForkWith(this.context)(actor)
    fiber.addObserver((exit) => {
      if (exit._tag === "Failure") onEnd(exit.cause)
    })
    return fiber
  }
}
