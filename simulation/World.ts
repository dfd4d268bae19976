import { Context, Effect, type Fiber, Layer, References, Scope } from "effect"
import * as RateLimiterMemory from "../src/layers/memory/RateLimiterMemory.ts"
import { PaymentProvider } from "../src/services/billing/PaymentProvider.ts"
import { RateLimiter } from "../src/services/credits/RateLimiter.ts"
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
import type { Upstream } from "./world/Upstreams.ts"

export interface Options {
  readonly seed: number
  readonly days: number
  readonly replicas: number
  readonly customers: number
  /** Requests of one customer in a year. */
  readonly requests: number
  /** False: nothing breaks. */
  readonly faults: boolean
  /** The run ends after so many events. */
  readonly maxEvents?: number | undefined
  /** The store of the replicas; in memory by default. */
  readonly store?: "memory" | "embedded" | undefined
  readonly write?: ((line: string) => void) | undefined
  /** An actor of a test beside the usual ones. It is given the world before its time begins. */
  readonly script?: ((world: World) => void) | undefined
}

export const startAt = Date.parse("2027-01-01T00:00:00Z")
export const dayMs = 86_400_000
/** Everybody comes in the same half hour of a day, when faults come too. Else the two would hardly ever meet. */
export const rushStartMs = 12 * 3_600_000
export const rushMs = 1_800_000
/** The time after a fault in which its traces may still be there. */
const settlingMs = 600_000

const calmWeather: Weather = { meanMs: 2, loss: 0, cut: 0, halfOpen: 0, duplicate: 0 }
const internetWeather: Weather = { meanMs: 30, loss: 0.003, cut: 0.004, halfOpen: 0.001, duplicate: 0 }

export interface Slot {
  readonly name: string
  readonly lines: { readonly [Name in keyof Links]: Line }
  /** The error of the machine's clock: so much at the start, and so much more each day. */
  readonly skewMs: number
  readonly driftMsADay: number
  replica: Replica | undefined
  starts: number
}

/** Every machine of a deployment, and the networks between them. */
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
  /** Counts how often the store has lost moments. */
  epoch = 0
  /** The last moment at which something was broken. */
  brokenUntil = startAt
  private readonly provider: PaymentProvider["Service"]
  private readonly limiter: RateLimiter["Service"]
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
    const shared = Layer.merge(PaymentProviderMemory.layer, RateLimiterMemory.layer())
    const services = buildNow(agenda, shared, Scope.makeUnsafe(), this.context)
    this.provider = Context.get(services, PaymentProvider)
    this.levers = Context.get(services, ProviderLevers)
    this.limiter = Context.get(services, RateLimiter)
    this.internet = new Link(agenda, this.chance("internet"), {
      isOpen: true,
      weather: options.faults ? internetWeather : { ...calmWeather, meanMs: 30 }
    })
    this.events = new Events(this, auditor)
    this.upstreams = ["ada", "bel", "cyn"].map((name) => ({ name, mood: "well" }))
    this.slots = Array.from({ length: options.replicas }, (_, index) => this.slotOf(`replica-${index + 1}`))
    for (const slot of this.slots) this.start(slot)
  }

  /** A stream of chance of its own for each name. */
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
    const { agenda, events, limiter, outside, provider, store, upstreams, watch } = this
    slot.starts++
    const chance = this.chance(`${slot.name} ${slot.starts}`)
    const { lines } = slot
    const links: Links = {
      store: new Link(agenda, chance, lines.store),
      limiter: new Link(agenda, chance, lines.limiter),
      provider: new Link(agenda, chance, lines.provider)
    }
    const skew = (now: number) => slot.skewMs + (slot.driftMsADay * (now - startAt)) / dayMs
    const around = { agenda, store, limiter, upstreams, provider, watch, outside, webhooks: events.client }
    slot.replica = new Replica(around, links, chance, skew)
    this.trace.add(slot.name, "starts")
  }

  /** The replica that gets the next request. */
  readonly pickReplica = (): Replica | undefined => {
    const serving = this.slots.flatMap(({ replica }) => (replica?.state === "serving" ? [replica] : []))
    return serving.length === 0 ? undefined : this.balancer.pick(serving)
  }

  /** Tells the loops of all replicas that there may be work of this kind for so long. */
  wake(work: Work, forMs: number): void {
    for (const { replica } of this.slots) replica?.loops[work].wake(forMs)
  }

  /** True where nothing has been broken for long enough that everything must be as it should be. */
  get isCalm(): boolean {
    return this.agenda.now > this.brokenUntil + settlingMs
  }

  /** Runs an actor of the simulation: a customer, the operator, the maker of faults. */
  act(actor: Effect.Effect<void>, onEnd: (failure: unknown) => void): Fiber.Fiber<void> {
    const fiber = Effect.runForkWith(this.context)(actor)
    fiber.addObserver((exit) => {
      if (exit._tag === "Failure") onEnd(exit.cause)
    })
    return fiber
  }
}
