import { Context, Effect, type Exit, Layer, Scope } from "effect"
import { AccessTokens } from "../../src/services/accounts/AccessTokens.ts"
import { Accounts } from "../../src/services/accounts/Accounts.ts"
import { ConnectedApps } from "../../src/services/accounts/ConnectedApps.ts"
import { Sessions } from "../../src/services/accounts/Sessions.ts"
import { BillingBooks } from "../../src/services/billing/BillingBooks.ts"
import { QueryLog } from "../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { Ids } from "../../src/services/Ids.ts"
import { KeyStore } from "../../src/services/keys/KeyStore.ts"
import { EventBooks } from "../../src/services/webhooks/EventBooks.ts"
import * as AccountsMemory from "../../src/testing/AccountsMemory.ts"
import * as BillingBooksMemory from "../../src/testing/BillingBooksMemory.ts"
import * as EventBooksMemory from "../../src/testing/EventBooksMemory.ts"
import * as KeyStoreMemory from "../../src/testing/KeyStoreMemory.ts"
import * as LedgerMemory from "../../src/testing/LedgerMemory.ts"
import {
  type LedgerEntry,
  MemoryStore,
  type StoredAccount,
  type StoredAllowance,
  type StoredHold
} from "../../src/testing/MemoryStore.ts"
import * as QueryLogMemory from "../../src/testing/QueryLogMemory.ts"
import * as SessionsMemory from "../../src/testing/SessionsMemory.ts"
import * as StandardSettings from "../../src/testing/StandardSettings.ts"
import { type Agenda, clockOf, exitNow, machineContext } from "../customers/Agenda.ts"
import type { Chance } from "../world/Chance.ts"
import type { Link, Server } from "../world/Network.ts"
import { snapshot } from "./snapshot.ts"

/** Ids of one machine, from its random stream. */
export const idsOf = (chance: Chance): Ids["Service"] => ({
  make: (prefix) => Effect.sync(() => prefix + chance.hex(32)),
  requestId: Effect.sync(() => uuidOf(chance)),
  entropy: (count) => Effect.sync(() => chance.bytes(count))
})

export const uuidOf = (chance: Chance): string => {
  const hex = chance.hex(32)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
}

const services = Layer.mergeAll(
  BillingBooksMemory.layer,
  EventBooksMemory.layer,
  KeyStoreMemory.layer,
  LedgerMemory.layer,
  QueryLogMemory.layer,
  SessionsMemory.layer
).pipe(
  Layer.provideMerge(AccountsMemory.layer),
  Layer.provide(StandardSettings.plans),
  Layer.provideMerge(MemoryStore.layer)
)

/** The services that the store provides to all replicas. */
export const storeServices = [
  AccessTokens,
  Accounts,
  BillingBooks,
  ConnectedApps,
  EventBooks,
  KeyStore,
  Ledger,
  QueryLog,
  Sessions
] as const

export type StoreServices = Exclude<Layer.Success<typeof services>, MemoryStore> | Ids

/** Runs an effect that does not wait for time and must not fail. */
export const runNow = <A, E, R>(agenda: Agenda, effect: Effect.Effect<A, E, R>, context: Context.Context<R>): A => {
  const exit = exitNow(agenda, effect, context)
  if (exit._tag === "Failure") throw new Error("this failed", { cause: exit.cause })
  return exit.value
}

export const buildNow = <A, E, R>(
  agenda: Agenda,
  layer: Layer.Layer<A, E, R>,
  scope: Scope.Scope,
  context: Context.Context<R>
): Context.Context<A> => runNow(agenda, Layer.buildWithScope(Layer.fresh(layer), scope), context)

interface Table<K, V> {
  readonly get: (key: K) => V | undefined
}

export type BookedEntry = Pick<
  LedgerEntry,
  "accountId" | "allowance" | "quotaCredits" | "balanceCredits" | "owedCredits" | "cause"
>

/** The stored records that the auditor and the customers read. */
export interface Books {
  readonly accounts: ReadonlyMap<string, StoredAccount>
  readonly subscribers: Table<string, string>
  readonly allowances: Table<string, StoredAllowance>
  readonly holds: ReadonlyMap<
    string,
    {
      readonly hold: Pick<StoredHold["hold"], "id" | "accountId" | "fromQuota" | "fromBalance">
      readonly allowance: StoredAllowance | undefined
      readonly expiresAt: number
    }
  >
  /** In the order in which they were written. */
  readonly entries: ReadonlyArray<BookedEntry>
  readonly keys: Table<string, { readonly id: string }>
  readonly queries: ReadonlyArray<{ readonly requestId?: string | undefined; readonly credits: number }>
  readonly billing: { readonly orders: Table<string, { readonly order: { readonly granted: number } }> }
}

/** The store of all replicas: a machine with a correct clock, which may freeze, or crash and lose its last writes. */
export interface Store extends Server {
  readonly context: Context.Context<StoreServices>
  readonly memory: Books
  /** True during a fault. There is one fault at a time. */
  isBusy: boolean
  /** Runs an effect of the operator or a check, without a network. No transaction may be open. */
  readonly now: <A, E>(effect: Effect.Effect<A, E, StoreServices>) => Exit.Exit<A, E>
  /** Discrepancies that the store's own checks find. No transaction may be open. */
  readonly problems: () => ReadonlyArray<string>
  /** Calls as soon as no transaction is open. */
  readonly onceQuiet: (call: () => void) => void
  /** Closes the connections of a machine that has crashed. */
  readonly left: (link: Link) => void
  readonly freeze: () => void
  /** Resumes. Waiting calls are run, or lost if the machine crashed. */
  readonly thaw: (isCrash?: boolean) => void
  /** Saves everything that is stored. The returned function restores it. */
  readonly snapshot: () => () => void
}

export const quiet = (store: Store): Effect.Effect<void> =>
  Effect.callback<void>((resume) => store.onceQuiet(() => resume(Effect.void)))

/** A store in memory, in which each service call is a single step. */
export class StoreInMemory implements Store {
  readonly context: Context.Context<StoreServices>
  readonly memory: MemoryStore["Service"]
  private readonly machine: Context.Context<never>
  isBusy = false
  private frozen: Array<(isRun: boolean) => void> | undefined

  constructor(agenda: Agenda, chance: Chance) {
    this.machine = machineContext(agenda, clockOf(agenda))
    const layer = services.pipe(Layer.provideMerge(Layer.succeed(Ids, idsOf(chance))))
    const context = buildNow(agenda, layer, Scope.makeUnsafe(), this.machine)
    this.context = context
    this.memory = Context.get(context, MemoryStore)
  }

  run<A, E>(effect: Effect.Effect<A, E>, done: (exit: Exit.Exit<A, E> | undefined) => void): void {
    if (this.frozen === undefined) Effect.runForkWith(this.machine)(effect).addObserver(done)
    else this.frozen.push((isRun) => (isRun ? this.run(effect, done) : done(undefined)))
  }

  now<A, E>(effect: Effect.Effect<A, E, StoreServices>): Exit.Exit<A, E> {
    return Effect.runSyncExitWith(this.machine)(Effect.provide(effect, this.context))
  }

  problems(): ReadonlyArray<string> {
    return []
  }

  onceQuiet(call: () => void): void {
    call()
  }

  left(): void {}

  freeze(): void {
    this.frozen ??= []
  }

  thaw(isCrash = false): void {
    const waiting = this.frozen ?? []
    this.frozen = undefined
    for (const end of waiting) end(!isCrash)
  }

  snapshot(): () => void {
    return snapshot(this.memory)
  }
}
