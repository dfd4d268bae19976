import { createHash, createHmac } from "node:crypto"
import { Context, Duration, Effect, type Exit, Layer, Redacted, References, Scope } from "effect"
import { SqlError } from "effect/sql"
import * as AccountsSql from "../../src/layers/sql/accounts/AccountsSql.ts"
import { type AccountRow, toAccount } from "../../src/layers/sql/accounts/AccountsSql.ts"
import * as BillingBooksSql from "../../src/layers/sql/billing/BillingBooksSql.ts"
import * as LedgerSql from "../../src/layers/sql/credits/LedgerSql.ts"
import * as KeyStoreSql from "../../src/layers/sql/keys/KeyStoreSql.ts"
import * as AuditSql from "../../src/layers/sql/operations/AuditSql.ts"
import * as LogMaintenance from "../../src/layers/sql/operations/LogMaintenance.ts"
import { CheckRows } from "../../src/layers/sql/Rows.ts"
import * as QueryLogSql from "../../src/layers/sql/search/QueryLogSql.ts"
import * as EventBooksSql from "../../src/layers/sql/webhooks/EventBooksSql.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { Ids } from "../../src/services/Ids.ts"
import { singleKeyring } from "../../src/services/operations/Keyrings.ts"
import { StoreClock } from "../../src/services/StoreClock.ts"
import type { StoredAccount, StoredAllowance } from "../../src/testing/MemoryStore.ts"
import * as SessionsMemory from "../../src/testing/SessionsMemory.ts"
import * as StandardSettings from "../../src/testing/StandardSettings.ts"
import { Agenda, clockOf, exitNow, machineContext } from "../customers/Agenda.ts"
import type { Chance } from "../world/Chance.ts"
import type { Link } from "../world/Network.ts"
import type { Database } from "./Database.ts"
import { type BookedEntry, type Books, buildNow, idsOf, type Store, type StoreServices } from "./Store.ts"

const pepper = "the pepper of a simulated deployment"
const authSecret = "the auth secret of a simulated deployment"

const halfDay = Duration.hours(12)

/**
 * The SQL layers of one machine. The ledger sweeps holds on a clock that sleeps while there are none. Other maintenance
 * runs a few times a day. The log is kept, because the auditor reads all of it.
 */
const sqlLayers = Layer.mergeAll(
  AccountsSql.layer,
  AuditSql.layer,
  BillingBooksSql.layer,
  EventBooksSql.layer({ keyring: singleKeyring(Redacted.make(authSecret)) }),
  KeyStoreSql.layer({ pepper: singleKeyring(Redacted.make(pepper)) }),
  LedgerSql.layer({ sweepInterval: Duration.infinity, keysClearingInterval: Duration.hours(8) }),
  // In a separate fiber, because it starts with a statement and the other layers must not wait.
  Layer.effectDiscard(
    Effect.forkScoped(
      Layer.launch(
        Layer.orDie(
          LogMaintenance.layer({ retention: Duration.days(10_000), monthsInterval: halfDay, hoursInterval: halfDay })
        )
      )
    )
  ),
  QueryLogSql.layer
).pipe(Layer.provide([Layer.succeed(CheckRows, true), StandardSettings.plans]))

/** The tables as the auditor reads them. Reads them again if a statement has run since. */
class BooksSql implements Books {
  private readonly database: Database
  private readAt = -1
  private readonly parts = new Map<string, unknown>()
  private readonly log: Array<{ requestId: string | undefined; credits: number }> = []
  private lastOrdinal = -1n
  private readonly booked: Array<BookedEntry> = []
  private lastEntry = 0n
  /** One object per allowance, because entries are summed by it. */
  private readonly allowanceObjects = new Map<bigint, StoredAllowance>()

  constructor(database: Database) {
    this.database = database
  }

  /** Returns the cached part with this name, or computes it again if the data may have changed. */
  private part<A>(name: string, make: () => A): A {
    if (this.readAt !== this.database.count) {
      this.readAt = this.database.count
      this.parts.clear()
    }
    if (!this.parts.has(name)) this.parts.set(name, make())
    // The cast is safe because each name always has the same function.
    return this.parts.get(name) as A
  }

  /** Reads rows whose columns are known here but not to the client. */
  private rows<Row>(text: string): ReadonlyArray<Row> {
    return this.database.rows(text) as ReadonlyArray<unknown> as ReadonlyArray<Row>
  }

  private get allowancesById(): ReadonlyMap<bigint, StoredAllowance> {
    return this.part("allowances", () => {
      const rows = this.rows<AllowanceRow>("select id, scope, period_start, period_end, quota, used from allowances")
      return new Map(rows.map((row) => [row.id, this.allowanceOf(row)]))
    })
  }

  private allowanceOf(row: AllowanceRow): StoredAllowance {
    const read = toAllowance(row)
    const known = this.allowanceObjects.get(row.id)
    if (known !== undefined) return Object.assign(known, read)
    this.allowanceObjects.set(row.id, read)
    return read
  }

  readonly allowances = {
    get: (name: string): StoredAllowance | undefined => {
      const [, email = ""] = /^trial:(.*) undefined$/.exec(name) ?? []
      const scope = `trial:${createHash("sha256").update(email).digest("hex")}`
      return [...this.allowancesById.values()].find((it) => it.scope === scope)
    }
  }

  get accounts(): ReadonlyMap<string, StoredAccount> {
    return this.part("accounts", () => {
      const rows = this.rows<AccountRow & WalletRow>(
        `select a.*, w.balance, w.owed from accounts a join wallets w on w.account_id = a.id
        where a.deleted_at is null order by a.created_at, a.id`
      )
      return new Map(rows.map((row) => [row.id, this.toStored(row)]))
    })
  }

  private toStored(row: AccountRow & WalletRow): StoredAccount {
    const allowance = this.allowancesById.get(row.allowance_id ?? -1n)
    if (allowance === undefined) throw new Error(`account ${row.id} has no allowance`)
    return {
      account: toAccount(row),
      allowance,
      balance: Number(row.balance),
      owed: Number(row.owed),
      grantCount: 0
    }
  }

  readonly subscribers = {
    get: (user: string): string | undefined =>
      this.part("subscribers", () => {
        const rows = this.rows<{ readonly id: string; readonly marketplace_user: string }>(
          "select id, marketplace_user from accounts where marketplace_user is not null"
        )
        return new Map(rows.map(({ id, marketplace_user }) => [marketplace_user, id]))
      }).get(user)
  }

  get holds(): Books["holds"] {
    return this.part("holds", () => {
      const rows = this.rows<HoldRow>("select * from holds order by id")
      return new Map(
        rows.map((row) => {
          const { account_id: accountId, from_balance, from_quota, id } = row
          const hold = { id, accountId, fromQuota: Number(from_quota), fromBalance: Number(from_balance) }
          return [
            id,
            { hold, allowance: this.allowancesById.get(row.allowance_id), expiresAt: row.expires_at.getTime() }
          ]
        })
      )
    })
  }

  get entries(): Books["entries"] {
    return this.part("entries", () => {
      const rows = this.rows<EntryRow>(
        `select id, account_id, allowance_id, quota_credits, balance_credits, owed_credits, cause from ledger_entries
        where id > ${this.lastEntry} order by id`
      )
      for (const row of rows) {
        this.lastEntry = row.id
        this.booked.push({
          accountId: row.account_id,
          allowance: this.allowancesById.get(row.allowance_id ?? -1n),
          quotaCredits: Number(row.quota_credits),
          balanceCredits: Number(row.balance_credits),
          owedCredits: Number(row.owed_credits),
          cause: row.cause
        })
      }
      return this.booked
    })
  }

  readonly keys = {
    get: (secret: string): { readonly id: string } | undefined => {
      const digest = createHmac("sha256", pepper).update(secret).digest("hex")
      const [row] = this.rows<{ readonly id: string }>(`select id from api_keys where digest = '\\x${digest}'`)
      return row
    }
  }

  /** The charged log entries in the order in which they were written. */
  get queries(): Books["queries"] {
    return this.part("queries", () => {
      const rows = this.rows<LogRow>(
        `select ordinal, request_id::text as request_id, credits from queries
        where ordinal > ${this.lastOrdinal} and credits > 0 order by ordinal`
      )
      for (const { credits, ordinal, request_id } of rows) {
        this.lastOrdinal = ordinal
        this.log.push({ requestId: request_id ?? undefined, credits })
      }
      return this.log
    })
  }

  /** R50: the spending of budgets equals the charges and holds of their keys. */
  budgetProblems(): ReadonlyArray<string> {
    return this.rows<{ readonly problem: string }>(
      `select s.origin_id || ' has spent ' || s.spent || ' of its budget, and its log says '
        || coalesce(q.credits, 0) || ' beside ' || coalesce(h.credits, 0) || ' held' as problem
      from key_spending s
      left join (
        select coalesce(k.origin_id, k.id) as origin_id, sum(l.credits) as credits
        from queries l join api_keys k on k.id = l.key_id group by 1
      ) q on q.origin_id = s.origin_id
      left join (
        select key_spending_id as id, sum(from_quota + from_balance) as credits from holds group by 1
      ) h on h.id = s.id
      where s.period = 'life' and s.spent <> coalesce(q.credits, 0) + coalesce(h.credits, 0)`
    ).map(({ problem }) => problem)
  }

  /** Resets after log and ledger have lost their last entries. */
  forget(): void {
    this.log.length = 0
    this.lastOrdinal = -1n
    this.booked.length = 0
    this.lastEntry = 0n
  }

  readonly billing = {
    orders: {
      get: (id: string): { readonly order: { readonly granted: number } } | undefined =>
        this.part("orders", () => {
          const rows = this.rows<{ readonly id: string; readonly granted: bigint }>(
            "select id, granted from billing_orders"
          )
          return new Map(rows.map((row) => [row.id, { order: { granted: Number(row.granted) } }]))
        }).get(id)
    }
  }
}

interface AllowanceRow {
  readonly id: bigint
  readonly scope: string
  readonly period_start: Date
  readonly period_end: Date | null
  readonly quota: bigint | null
  readonly used: bigint
}

interface WalletRow {
  readonly allowance_id: bigint | null
  readonly balance: bigint
  readonly owed: bigint
}

interface HoldRow {
  readonly id: string
  readonly account_id: string
  readonly allowance_id: bigint
  readonly from_quota: bigint
  readonly from_balance: bigint
  readonly expires_at: Date
}

interface EntryRow {
  readonly id: bigint
  readonly account_id: string
  readonly allowance_id: bigint | null
  readonly quota_credits: bigint
  readonly balance_credits: bigint
  readonly owed_credits: bigint
  readonly cause: string
}

interface LogRow {
  readonly ordinal: bigint
  readonly request_id: string | null
  readonly credits: number
}

const toAllowance = ({ period_end, period_start, quota, scope, used }: AllowanceRow): StoredAllowance => ({
  scope,
  period: period_end === null ? undefined : { start: period_start.getTime(), end: period_end.getTime() },
  quota: quota === null ? undefined : Number(quota),
  used: Number(used)
})

/**
 * The embedded database as the store of all replicas. Each replica has its own SQL layers, with their caches and group
 * commits, over a client with simulated network. Sessions are in memory, as in the other store.
 */
export class EmbeddedStore implements Store {
  readonly memory: BooksSql
  readonly context: Context.Context<StoreServices>
  isBusy = false
  private readonly database: Database
  private readonly loop = new Agenda(0)
  private readonly machine: Context.Context<never>
  private frozen: Array<(isRun: boolean) => void> | undefined

  constructor(agenda: Agenda, chance: Chance, database: Database) {
    this.database = database
    this.memory = new BooksSql(database)
    this.machine = machineContext(this.loop, clockOf(agenda)).pipe(Context.add(References.MinimumLogLevel, "None"))
    const services = SessionsMemory.layer.pipe(
      Layer.provideMerge(sqlLayers),
      Layer.provide([database.clientAtOnce, StoreClock.own]),
      Layer.provideMerge(Layer.succeed(Ids, idsOf(chance)))
    )
    this.context = buildNow(this.loop, services, Scope.makeUnsafe(), this.machine)
  }

  /** The store's services for a replica, except sessions. */
  layerOver(link: Link) {
    return sqlLayers.pipe(Layer.provide(this.database.clientOver(link)))
  }

  run<A, E>(effect: Effect.Effect<A, E>, done: (exit: Exit.Exit<A, E> | undefined) => void): void {
    if (this.frozen !== undefined) {
      this.frozen.push((isRun) => (isRun ? this.run(effect, done) : done(undefined)))
      return
    }
    this.database.onceFree(() => done(this.now(effect)))
  }

  now<A, E>(effect: Effect.Effect<A, E, StoreServices>): Exit.Exit<A, E> {
    return exitNow(this.loop, Effect.provide(effect, this.context), this.machine)
  }

  problems(): ReadonlyArray<string> {
    const verified = this.now(Effect.flatMap(Ledger, (ledger) => ledger.verify))
    if (verified._tag === "Failure") return [String(verified.cause)]
    return [...verified.value.map((it) => JSON.stringify(it)), ...this.memory.budgetProblems()]
  }

  onceQuiet(call: () => void): void {
    this.database.onceFree(call)
  }

  left(link: Link): void {
    this.database.left(link)
  }

  freeze(): void {
    this.frozen ??= []
    this.database.freeze()
  }

  thaw(isCrash = false): void {
    const waiting = this.frozen ?? []
    this.frozen = undefined
    this.database.thaw(isCrash)
    for (const end of waiting) end(!isCrash)
  }

  snapshot(): () => void {
    const restore = this.database.snapshot()
    return () => {
      restore()
      this.memory.forget()
    }
  }
}

/** True for a defect other than a connection error, such as a statement that the database rejects. */
export const isMistake = (defect: unknown): boolean =>
  !SqlError.isSqlError(defect) || defect.reason._tag !== "ConnectionError"
