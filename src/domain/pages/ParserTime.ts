interface Spent {
  readonly at: number
  ms: number
}

/** Uncharged parser time of an account in `windowMs` (R83). */
export const unchargedMs = 10_000
const windowMs = 60_000
/** Expenses within this time count as one, so that an account has few of them. */
const grainMs = 1_000

const current = (spent: ReadonlyArray<Spent>, now: number): Array<Spent> =>
  spent.filter(({ at }) => at + windowMs > now)

/** Parser time that each account used for pages that were not charged, in this process. */
export class ParserTime {
  readonly #limitMs: number
  /** Least recently changed first. */
  readonly #accounts = new Map<string, ReadonlyArray<Spent>>()

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  get accounts(): number {
    return this.#accounts.size
  }

  spend(accountId: string, ms: number, now: number): void {
    if (ms <= 0) return
    const spent = current(this.#accounts.get(accountId) ?? [], now)
    const last = spent.at(-1)
    if (last !== undefined && now - last.at < grainMs) last.ms += ms
    else spent.push({ at: now, ms })
    this.#accounts.delete(accountId)
    this.#accounts.set(accountId, spent)
    for (const [id, each] of this.#accounts) {
      if ((each.at(-1)?.at ?? 0) + windowMs > now) return
      this.#accounts.delete(id)
    }
  }

  /** Milliseconds until the account may use the parser again; 0 if it may now. */
  retryAfterMs(accountId: string, now: number): number {
    const spent = current(this.#accounts.get(accountId) ?? [], now)
    let total = spent.reduce((sum, { ms }) => sum + ms, 0)
    for (const { at, ms } of spent) {
      if (total < this.#limitMs) return 0
      total -= ms
      if (total < this.#limitMs) return at + windowMs - now
    }
    return 0
  }
}
