import { rootCauseMessage } from "../src/domain/rootCause.ts"
import type { RateLimitDecision } from "../src/services/credits/RateLimiter.ts"
import type { StoredAccount } from "../src/testing/MemoryStore.ts"
import type { CallerKind, ModelAccount, ModelKey, OpenRequest } from "./Account.ts"
import type { Agenda } from "./customers/Agenda.ts"
import { namesBudget, type Reply } from "./customers/Client.ts"
import { deliveriesPerMinute, enter, type Figures, isCharged, limitOf, spend, Window } from "./Model.ts"
import type { Replica, Work } from "./Replica.ts"
import { fullest, maxGained } from "./store/memory.ts"
import type { BookedEntry, Books, Store } from "./store/Store.ts"
import type { Upstream } from "./world/Upstreams.ts"

/** A broken promise, which ends the simulation. */
export class Broken extends Error {
  override readonly name = "Broken"
}

/** Time after which a request can no longer be open: a lease, the following sweep, and the longest request. */
const orphanMs = 300_000

/** Time in which a change of credentials reaches every replica (R49). */
const revocationMs = 10_000

const header = (reply: Reply, name: string): number => Number(reply.headers[name] ?? Number.NaN)

const add = <K>(sums: Map<K, number>, key: K, credits: number): void =>
  void sums.set(key, (sums.get(key) ?? 0) + credits)

/** Sums of the ledger's entries. Each entry is added once. */
class EntrySums {
  readonly quotas = new Map<unknown, number>()
  readonly packs = new Map<string, number>()
  private readonly owed = new Map<string, number>()
  private seen = 0

  /** R40: calls `granted` with what an account owed before it got credits, and how much of that was settled. */
  read(
    entries: ReadonlyArray<BookedEntry>,
    granted: (entry: BookedEntry, owed: number, settled: number) => void
  ): void {
    for (; this.seen < entries.length; this.seen++) {
      const entry = entries[this.seen]
      if (entry === undefined) continue
      const { accountId, allowance, balanceCredits, cause, owedCredits = 0, quotaCredits } = entry
      if (allowance !== undefined) add(this.quotas, allowance, quotaCredits)
      add(this.packs, accountId, balanceCredits)
      const owed = this.owed.get(accountId) ?? 0
      if (owed > 0 && balanceCredits > 0 && !cause.startsWith("adjustment:")) {
        const next = entries[this.seen + 1]
        granted(entry, owed, next?.cause === `owed:${cause}` ? -(next.owedCredits ?? 0) : 0)
      }
      this.owed.set(accountId, owed + owedCredits)
    }
  }

  /** Resets the sums after the store has lost its last entries. */
  forget(): void {
    this.quotas.clear()
    this.packs.clear()
    this.owed.clear()
    this.seen = 0
  }
}

interface Audited {
  readonly agenda: Agenda
  readonly store: Store
  readonly slots: ReadonlyArray<{ readonly name: string; readonly replica: Replica | undefined }>
  readonly wake: (work: Work, forMs: number) => void
}

/** Compares what clients receive and what the store contains with the model. */
export class Auditor {
  readonly accounts = new Map<string, ModelAccount>()
  readonly keys = new Map<string, ModelKey>()
  /** Requests that share an idempotency key. */
  private readonly groups = new Map<string, Set<string>>()
  /** The first broken promise. */
  broken: Broken | undefined
  /** Number of checks by promise. */
  readonly checks = new Map<string, number>()
  private readonly decisions = new Map<string, RateLimitDecision>()
  private readonly windows = new Map<string, Window>()
  private world: Audited | undefined
  private readonly open = new Set<OpenRequest>()
  /** Requests whose replica does not know if their settlement succeeded. */
  private readonly unknown = new Set<string>()
  private seenQueries = 0
  /** Logged credits by request. */
  private readonly logged = new Map<string, number>()
  private readonly entries = new EntrySums()
  /** The last call of each upstream that has a pace. */
  private readonly calledAt = new Map<string, number>()

  /** Called after construction, because the world needs its auditor to be created. */
  attach(world: Audited): void {
    this.world = world
  }

  private get now(): number {
    return this.world?.agenda.now ?? 0
  }

  /**
   * Checks a promise, which is named by its number in the contract. Both throws and records a failure, because the
   * product would turn an error thrown inside a call into a 500 or a fallback.
   */
  hold(promise: string, isKept: boolean, details: () => string): void {
    this.checks.set(promise, (this.checks.get(promise) ?? 0) + 1)
    if (isKept) return
    this.broken ??= new Broken(`${promise}: ${details()}`)
    throw this.broken
  }

  readonly watch = {
    unanswered: (requestId: string, isSettlement: boolean): void => {
      if (isSettlement) this.unknown.add(requestId)
      this.world?.wake("holds", orphanMs)
    },
    mistaken: (method: string, defect: unknown): void =>
      this.hold("the store makes no mistake", false, () => `${method}: ${rootCauseMessage(defect)}`),
    called: ({ name, perSecond }: Upstream): void => {
      if (perSecond === undefined) return
      const before = this.calledAt.get(name)
      this.calledAt.set(name, this.now)
      if (before === undefined) return
      const ms = this.now - before
      this.hold("R77 the pace", ms >= 1_000 / perSecond, () => `${name} is called again after ${ms} ms`)
    },
    limited: (requestId: string, credential: string, decision: RateLimitDecision, isShared: boolean): void => {
      // R53: a webhook test also has its own limit, which is visible only when it denies a request.
      const isOwn = credential.startsWith("deliveries:")
      if (!isOwn || !decision.admitted) this.decisions.set(requestId, decision)
      if (!isShared) return
      const window = this.windows.get(credential) ?? new Window()
      this.windows.set(credential, window)
      const expected = window.decide(decision.limit, this.now)
      this.hold(
        "R27 the rolling minute",
        expected.admitted === decision.admitted &&
          expected.remaining === decision.remaining &&
          expected.reset === decision.resetAtSeconds,
        () => `${credential} must be ${JSON.stringify(expected)}, is ${JSON.stringify(decision)}`
      )
    }
  }

  add(id: string, name: string, figures: Figures): ModelAccount {
    const known: ModelAccount = {
      id,
      name,
      figures,
      open: new Map(),
      version: 0,
      isBlurred: false,
      isSuspended: false,
      changedAt: 0,
      isBuyer: false,
      isMoving: false,
      movedAt: 0,
      fromPacks: 0,
      straddling: 0
    }
    this.accounts.set(id, known)
    return known
  }

  begin(account: ModelAccount, kind: CallerKind, id: string, credits: number): OpenRequest {
    this.turn(account)
    const { balance, used } = account.figures
    const request: OpenRequest = {
      id,
      account,
      kind,
      credits,
      sentAt: this.now,
      usedBefore: used,
      balanceBefore: balance,
      version: account.version,
      hasCrossedLoss: false,
      mustBeFree: false,
      least: 0,
      hasCompany: account.open.size > 0,
      givenBack: 0
    }
    for (const other of account.open.values()) other.hasCompany = true
    account.open.set(id, request)
    this.open.add(request)
    return request
  }

  /** The request did not reach a replica, so it cannot be charged. */
  unsent(request: OpenRequest): void {
    this.close(request)
  }

  private close(request: OpenRequest): void {
    request.account.open.delete(request.id)
    this.open.delete(request)
  }

  /** Opens the next period. For a subscription, the provider determines it and the books follow. */
  private turn(account: ModelAccount): void {
    const { figures, isBuyer } = account
    if (isBuyer && figures.period !== undefined && this.now >= figures.period.end) {
      account.isMoving = true
      account.movedAt = this.now
    }
    enter(figures, this.now)
  }

  /** Maximum credits that other requests of the account may hold. */
  private othersOf({ account, id }: OpenRequest): number {
    let sum = 0
    for (const other of account.open.values()) if (other.id !== id) sum += other.credits
    return sum
  }

  /** R44: requests with the same idempotency key are charged once in total. */
  group(key: string, request: OpenRequest | undefined): void {
    if (request === undefined) return
    const ids = this.groups.get(key) ?? new Set()
    this.groups.set(key, ids.add(request.id))
  }

  private judgeGroups(): void {
    const isOpen = new Set(Array.from(this.open, ({ id }) => id))
    for (const [key, ids] of this.groups) {
      if ([...ids].some((id) => isOpen.has(id))) continue
      this.groups.delete(key)
      const charged = [...ids].filter((id) => (this.logged.get(id) ?? 0) > 0)
      this.hold("R44 charged once in the log", charged.length <= 1, () => `${key} was charged by ${charged.join(", ")}`)
    }
  }

  keyChanging(secret: string): void {
    const key = this.keys.get(secret)
    if (key !== undefined) key.isUnsure = true
  }

  keyRevoked(secret: string): void {
    const key = this.keys.get(secret)
    if (key === undefined) return
    key.isUnsure = false
    key.revokedAt = this.now
  }

  /** A key works until it is revoked, and stops working everywhere within ten seconds. */
  judgeKey({ account, hasCrossedLoss, sentAt, version }: OpenRequest, secret: string, status: number): void {
    const key = this.keys.get(secret)
    if (key === undefined || hasCrossedLoss || key.isUnsure === true) return
    const { revokedAt, accountId } = key
    if (revokedAt !== undefined) {
      const isOver = revokedAt + revocationMs <= sentAt
      this.hold(
        "a revoked key is dead",
        !isOver || status === 401 || status === 500,
        () => `a key of ${accountId} is ${status}`
      )
      return
    }
    const { changedAt, isSuspended } = account
    if (version !== account.version || changedAt + revocationMs > sentAt) return
    const isRight = (status === 401) === isSuspended || status === 500
    this.hold("R49 a key works", isRight, () => `a key of ${accountId} is ${status}, suspended: ${isSuspended}`)
  }

  /** Used part of a mailbox's trial, which outlives the account (R32). */
  trialUsed(account: ModelAccount, email: string): number {
    if (account.figures.plan !== "trial") return 0
    if (!this.accounts.has(account.id)) {
      return this.world?.store.memory.allowances.get(`trial:${email} undefined`)?.used ?? 0
    }
    this.readLog()
    for (const request of account.open.values()) {
      const logged = this.logged.get(request.id) ?? 0
      this.close(request)
      if (logged > 0) spend(account.figures, logged)
    }
    return account.figures.used
  }

  /** Checks a response, and charges the cost that it states. */
  answered(request: OpenRequest, reply: Reply, cost: number): void {
    const { account } = request
    const { figures } = account
    this.judgeLimit(request, reply)
    if (request.hasCrossedLoss) return
    if (reply.status === 500) {
      // A hold, if there is one, expires with its lease.
      request.mustBeFree = !this.unknown.has(request.id)
      return
    }
    const others = this.othersOf(request) + request.givenBack
    const isSamePeriod = figures.period === undefined || this.now < figures.period.end
    const isComparable = account.version === request.version && isSamePeriod && !account.isMoving
    this.close(request)
    for (const other of account.open.values()) other.givenBack += request.credits - cost
    this.turn(account)
    const usedNow = figures.used
    if (reply.status === 402 && isComparable && !namesBudget(reply)) this.judgeRefusal(request, others)
    const overlapped = others > 0 && figures.quota !== undefined && usedNow + others + request.credits > figures.quota
    if (overlapped) account.isBlurred = true
    if (cost > 0) {
      this.hold("I4 charged once", isCharged(reply), () => `${request.id} is ${reply.status} and cost ${cost}`)
      const hasEnough = this.charge(request, cost)
      this.hold(
        "I1 never below zero",
        hasEnough || account.isBlurred || others > 0,
        () => `${account.id} was charged ${cost} that it does not have`
      )
    }
    if (isComparable) this.judgeHeaders(request, reply, usedNow, others)
  }

  /** Charges a request in the period in which its credits were reserved. */
  private charge({ account, sentAt }: OpenRequest, credits: number): boolean {
    const { figures } = account
    if (!account.isMoving && (figures.period === undefined || sentAt >= figures.period.start)) {
      const { balance } = figures
      const hasEnough = spend(figures, credits)
      account.fromPacks += balance - figures.balance
      return hasEnough
    }
    figures.charged += credits
    account.straddling += credits
    account.isBlurred = true
    return true
  }

  /** R1, R27, R45: the rate-limit headers match the limiter's decision. */
  private judgeLimit({ account, id, kind }: OpenRequest, reply: Reply): void {
    const decision = this.decisions.get(id)
    this.decisions.delete(id)
    const { status } = reply
    if (status === 401 || status === 500 || decision === undefined) {
      this.hold("R1 no limit's header", reply.headers["x-ratelimit-limit"] === undefined, () => `${id} is ${status}`)
      return
    }
    const limit = limitOf(kind, account.figures.concurrency)
    const isAsDecided =
      header(reply, "x-ratelimit-limit") === decision.limit &&
      header(reply, "x-ratelimit-remaining") === decision.remaining &&
      header(reply, "x-ratelimit-reset") === decision.resetAtSeconds
    this.hold("R27 headers", isAsDecided, () => `${id}: ${JSON.stringify(reply.headers)}`)
    this.hold("R27 limited", (status === 429) === !decision.admitted, () => `${id} is ${status}`)
    this.hold(
      "plan's limit",
      account.isMoving ||
        account.changedAt > this.now - orphanMs ||
        decision.limit === limit ||
        (!decision.admitted && decision.limit === deliveriesPerMinute),
      () => `${id}: not ${limit}`
    )
  }

  private judgeRefusal(request: OpenRequest, others: number): void {
    const { balance, quota = Number.POSITIVE_INFINITY, used } = request.account.figures
    const least = quota - used + balance - others
    this.hold(
      "402 only without credits",
      request.credits > least,
      () => `${request.id} needs ${request.credits}, and ${request.account.id} has ${least}`
    )
  }

  private judgeHeaders(request: OpenRequest, reply: Reply, usedNow: number, others: number): void {
    const { account, usedBefore } = request
    const { figures } = account
    if (reply.headers["x-quota-limit"] === undefined) return
    const used = header(reply, "x-quota-used")
    const quota = header(reply, "x-quota-limit")
    const explain = () =>
      `${request.id}: used ${usedBefore} to ${usedNow} + ${others} of ${figures.quota}, balance ${figures.balance}; ${JSON.stringify(reply.headers)}`
    this.hold("X-Quota-Limit", quota === figures.quota, explain)
    this.hold("X-Quota-Used", account.isBlurred || (used >= usedBefore && used <= usedNow + others), explain)
    this.hold("X-Quota-Remaining", header(reply, "x-quota-remaining") === quota - used, explain)
    const reset = figures.period === undefined ? undefined : String(Math.ceil(figures.period.end / 1_000))
    this.hold("X-Quota-Reset", reply.headers["x-quota-reset"] === reset, explain)
    const balance = reply.headers["x-credits-balance"]
    if (balance === undefined) return
    const isWithin = Number(balance) >= figures.balance - others && Number(balance) <= request.balanceBefore
    this.hold("X-Credits-Balance", account.isBlurred || isWithin, explain)
  }

  /** Reads new log entries. */
  readLog(): void {
    const queries = this.world?.store.memory.queries ?? []
    for (; this.seenQueries < queries.length; this.seenQueries++) {
      const query = queries[this.seenQueries]
      if (query?.requestId === undefined || query.credits === 0) continue
      this.logged.set(query.requestId, (this.logged.get(query.requestId) ?? 0) + query.credits)
    }
  }

  /** Looks up requests with an unknown outcome in the log, once none of their holds can be open. */
  resolve(): void {
    this.readLog()
    for (const request of this.open) {
      if (request.sentAt > this.now - orphanMs) break
      const { account, credits, hasCompany, hasCrossedLoss, id, mustBeFree } = request
      this.close(request)
      const logged = this.logged.get(id) ?? 0
      this.hold("no more than asked", logged <= credits, () => `${id} cost ${logged}`)
      const isSeen = logged >= request.least || request.hasCrossedLoss
      this.hold("R46 charged before seen", isSeen, () => `${id} showed ${request.least} rows and cost ${logged}`)
      this.hold("I4 a 500 is free", logged === 0 || !mustBeFree, () => `${id} was answered 500 and cost ${logged}`)
      account.version++
      enter(account.figures, this.now)
      if (logged === 0) continue
      // Only a request that did not overlap with others has a known order: quota first, and packs are returned first
      // (R30).
      if (hasCompany || hasCrossedLoss) account.isBlurred = true
      this.charge(request, logged)
    }
  }

  /** R29, I3: credits held by a crashed replica have been returned. */
  judgeHolds(): void {
    for (const { expiresAt, hold } of this.world?.store.memory.holds.values() ?? []) {
      this.hold("R29 holds end", expiresAt > this.now - 60_000, () => `${hold.id} of ${hold.accountId} is still held`)
    }
  }

  /** Saves the model. The returned function restores it, together with the store. */
  snapshot(): () => void {
    const keys = new Map(Array.from(this.keys, ([secret, key]) => [secret, { ...key }]))
    const kept = new Map(
      Array.from(this.accounts, ([id, it]) => [id, { ...it, figures: { ...it.figures }, open: new Map(it.open) }])
    )
    return () => {
      this.keys.clear()
      for (const [secret, key] of keys) this.keys.set(secret, key)
      this.groups.clear()
      this.logged.clear()
      this.entries.forget()
      this.seenQueries = 0
      for (const [id, account] of this.accounts) {
        const before = kept.get(id)
        if (before === undefined) {
          this.accounts.delete(id)
          continue
        }
        for (const [name, request] of before.open) {
          account.open.set(name, request)
          this.open.add(request)
        }
        for (const request of account.open.values()) request.hasCrossedLoss = true
        account.figures = before.figures
        account.isBlurred = before.isBlurred
        account.isSuspended = before.isSuspended
        account.isMoving ||= account.isBuyer
        if (account.isBuyer) account.movedAt = this.now
        account.fromPacks = before.fromPacks
        account.straddling = before.straddling
        account.version++
      }
    }
  }

  hasHold(accountId: string): boolean {
    return (this.world?.store.memory.holds.values() ?? []).some(({ hold }) => hold.accountId === accountId)
  }

  /** Compares the books of all accounts without open requests with the model. */
  compare(): void {
    const { world } = this
    if (world === undefined) return
    this.readLog()
    this.judgeGroups()
    this.judgeEntries(world.store.memory)
    for (const { name, replica } of world.slots) this.judgeMemory(name, replica)
    const problems = world.store.problems()
    this.hold("I2, I3 the store finds its books right", problems.length === 0, () => problems.join("; "))
    const { accounts, holds, subscribers } = world.store.memory
    const held = new Set(Array.from(holds.values(), ({ hold }) => hold.accountId))
    for (const account of this.accounts.values()) {
      const stored = accounts.get(account.id) ?? accounts.get(subscribers.get(account.id) ?? "")
      if (stored === undefined || account.open.size > 0 || held.has(stored.account.id)) continue
      this.compareOne(account, stored)
    }
  }

  /** At midnight, after hours without requests, a replica holds almost nothing in memory. */
  private judgeMemory(name: string, replica: Replica | undefined): void {
    const full = replica === undefined ? undefined : fullest(replica.kept)
    const explain = () => `${name} keeps ${full?.gained} more than at its start: ${full?.keys}`
    this.hold("memory is bounded", (full?.gained ?? 0) <= maxGained, explain)
  }

  /** I2: an account's figures are the sums of its entries and holds. */
  private judgeEntries({ accounts, entries, holds }: Books): void {
    this.entries.read(entries, ({ accountId, balanceCredits }, owed, settled) => {
      const isSettled = settled === Math.min(owed, balanceCredits)
      this.hold(
        "R40 owed first",
        isSettled,
        () => `${accountId} owed ${owed}, got ${balanceCredits}, settled ${settled}`
      )
    })
    const held = new Map<unknown, number>()
    for (const { allowance, hold } of holds.values()) {
      add(held, allowance, hold.fromQuota)
      add(held, hold.accountId, hold.fromBalance)
    }
    for (const { account, allowance, balance } of accounts.values()) {
      const used = (this.entries.quotas.get(allowance) ?? 0) + (held.get(allowance) ?? 0)
      const has = (this.entries.packs.get(account.id) ?? 0) - (held.get(account.id) ?? 0)
      const explain = () =>
        `${account.id} used ${allowance.used} and has ${balance}, its entries say ${used} and ${has}`
      this.hold("I2 entries", allowance.used === used && balance === has, explain)
    }
  }

  private compareOne(account: ModelAccount, { allowance, balance }: StoredAccount): void {
    const { figures } = account
    this.turn(account)
    const isStale = allowance.period !== undefined && allowance.period.end <= this.now
    const used = isStale ? 0 : allowance.used
    const explain = () =>
      `${account.name} must have used ${figures.used} of ${figures.quota} and have ${figures.balance}; it has used ${used} of ${allowance.quota} and has ${balance}; ${account.straddling} may be of another period`
    this.hold("I1", used >= 0 && balance >= 0 && used <= (allowance.quota ?? used), explain)
    if (account.isMoving) return
    if (account.isBlurred) {
      const more = used - balance - figures.used + figures.balance
      this.hold("I2 used and packs", more >= 0 && more <= account.straddling, explain)
      account.fromPacks += figures.balance - balance
      figures.used = used
      figures.balance = balance
      account.isBlurred = false
      account.straddling = 0
    }
    this.hold("I2 used", used === figures.used, explain)
    this.hold("I2 packs", balance === figures.balance, explain)
    this.hold("the quota", isStale || allowance.quota === figures.quota, explain)
  }
}
