interface Waiting<A> {
  readonly item: A
  readonly bytes: number
}

interface Account<A> {
  start: number
  running: number
  readonly waiting: Array<Waiting<A>>
}

export interface QueueLimits {
  readonly items: number
  readonly bytes: number
}

export interface Taken<A> {
  readonly accountId: string
  readonly item: A
}

/** The index of the first item with the lowest rank below infinity, or -1. No rank is below 0. */
const lowest = <A>(waiting: ReadonlyArray<Waiting<A>>, rankOf: (item: A) => number): number => {
  let [found, least] = [-1, Number.POSITIVE_INFINITY]
  for (const [index, { item }] of waiting.entries()) {
    const rank = rankOf(item)
    if (rank >= least) continue
    ;[found, least] = [index, rank]
    if (rank <= 0) break
  }
  return found
}

/**
 * A bounded queue that shares processing time between accounts (start-time fair queueing). Each account's virtual time
 * advances by the time its items took, and the account that is furthest behind goes next. An account with one quick
 * page thus overtakes one with many slow pages.
 */
export class FairQueue<A> {
  readonly #accounts = new Map<string, Account<A>>()
  readonly #limits: QueueLimits
  readonly #maxRunning: number
  #virtualNow = 0
  #items = 0
  #bytes = 0

  /** An account with `maxRunning` items that were taken and are not finished waits until one of them is. */
  constructor(limits: QueueLimits, maxRunning = Number.POSITIVE_INFINITY) {
    this.#limits = limits
    this.#maxRunning = maxRunning
  }

  get size(): number {
    return this.#items
  }

  /** The number of waiting items that go before the next one of an account, if no further items arrive. */
  ahead(accountId: string): number {
    const own = this.#accounts.get(accountId)?.waiting.length ?? 0
    let others = 0
    for (const [id, { waiting }] of this.#accounts) if (id !== accountId) others += Math.min(waiting.length, own)
    return own + others
  }

  /** Returns dropped items: the newest of the account with the most bytes waiting, if the queue exceeds its limits. */
  offer(accountId: string, item: A, bytes: number): ReadonlyArray<A> {
    const account = this.#accounts.get(accountId) ?? { start: this.#virtualNow, running: 0, waiting: [] }
    this.#accounts.set(accountId, account)
    if (account.waiting.length === 0 && account.running === 0) account.start = Math.max(account.start, this.#virtualNow)
    account.waiting.push({ item, bytes })
    this.#items++
    this.#bytes += bytes
    const out: Array<A> = []
    while (this.#items > this.#limits.items || (this.#bytes > this.#limits.bytes && this.#items > 1)) {
      out.push(...this.#pushOut())
    }
    return out
  }

  #pushOut(): ReadonlyArray<A> {
    let largest: { readonly id: string; readonly account: Account<A>; readonly bytes: number } | undefined
    for (const [id, account] of this.#accounts) {
      const bytes = account.waiting.reduce((sum, each) => sum + each.bytes + 1, 0)
      if (bytes > (largest?.bytes ?? 0)) largest = { id, account, bytes }
    }
    const last = largest?.account.waiting.pop()
    if (largest === undefined || last === undefined) return []
    this.#forget(last.bytes)
    this.#dropIdle(largest.id, largest.account)
    return [last.item]
  }

  /**
   * The item with the lowest rank of the account that is furthest behind and has one; the first of several. Call
   * `finish` when the item is done. An item with an infinite rank is not ready, and does not hold up its account's others.
   */
  take(rankOf: (item: A) => number = () => 0): Taken<A> | undefined {
    let next: { readonly accountId: string; readonly account: Account<A>; readonly index: number } | undefined
    for (const [accountId, account] of this.#accounts) {
      if (account.running >= this.#maxRunning || (next !== undefined && account.start >= next.account.start)) continue
      const index = lowest(account.waiting, rankOf)
      if (index >= 0) next = { accountId, account, index }
    }
    const [first] = next?.account.waiting.splice(next.index, 1) ?? []
    if (next === undefined || first === undefined) return undefined
    this.#virtualNow = Math.max(this.#virtualNow, next.account.start)
    next.account.running++
    this.#forget(first.bytes)
    return { accountId: next.accountId, item: first.item }
  }

  finish(accountId: string, costMs: number): void {
    const account = this.#accounts.get(accountId)
    if (account === undefined) return
    account.running--
    account.start += Math.max(1, costMs)
    this.#dropIdle(accountId, account)
  }

  /** Adds the cost of work outside the queue to an account that has items in it. */
  charge(accountId: string, costMs: number): void {
    const account = this.#accounts.get(accountId)
    if (account !== undefined) account.start += costMs
  }

  remove(accountId: string, item: A): boolean {
    const account = this.#accounts.get(accountId)
    const index = account?.waiting.findIndex((each) => each.item === item) ?? -1
    const [removed] = index < 0 ? [] : (account?.waiting.splice(index, 1) ?? [])
    if (account === undefined || removed === undefined) return false
    this.#forget(removed.bytes)
    this.#dropIdle(accountId, account)
    return true
  }

  #forget(bytes: number): void {
    this.#items--
    this.#bytes -= bytes
  }

  /** Drops accounts whose virtual time has been reached. An empty queue resets all accounts. */
  #dropIdle(accountId: string, account: Account<A>): void {
    const isIdle = account.waiting.length === 0 && account.running === 0
    if (isIdle && account.start <= this.#virtualNow) this.#accounts.delete(accountId)
    if (this.#items > 0) return
    for (const each of this.#accounts.values()) if (each.running > 0) return
    this.#accounts.clear()
    this.#virtualNow = 0
  }
}
