/** The receiver of a delivery: an endpoint of the account, or its email address where `endpointId` is undefined. */
export interface Recipient {
  readonly accountId: string
  readonly endpointId: string | undefined
}

/** A delivery that is due. `isFailing`: the last attempt at its endpoint failed. */
export interface DueDelivery extends Recipient {
  readonly id: string
  readonly isFailing: boolean
}

/** The deliveries that may start now. */
export interface SlotLimits {
  /** Free slots of this process for endpoints that work, and for emails. */
  readonly working: number
  /** Free slots of this process for endpoints whose last attempt failed. */
  readonly failing: number
  /** Attempts at one endpoint, or emails of all accounts, at the same time over all replicas. */
  readonly perEndpoint: number
}

/** An account that has attempts in flight gets another slot only while it has fewer than 1/4 of the free slots. */
const freeSlotsPerAttempt = 4

interface Counts {
  readonly of: (key: string) => number
  readonly add: (key: string) => void
}

const countsOf = (keys: ReadonlyArray<string>): Counts => {
  const counts = new Map<string, number>()
  const of = (key: string) => counts.get(key) ?? 0
  const add = (key: string) => void counts.set(key, of(key) + 1)
  keys.forEach(add)
  return { of, add }
}

const endpointKey = ({ endpointId }: Recipient): string => endpointId ?? "email"

const laneOf = ({ isFailing }: DueDelivery) => (isFailing ? "failing" : "working")

/**
 * Shares free slots among accounts (R53). The next slot goes to the account with the fewest attempts in flight; among
 * equals, to the first in `due`. An account's first attempt may use the last free slot. Each further attempt needs four
 * free slots for every attempt that the account has in flight, so receivers that hang cannot use up the slots: twenty
 * such accounts leave a sixth of them free. Within an account, the endpoint with the fewest attempts comes first.
 *
 * `inFlight` has the attempts of all replicas. `capped` is the number of accounts that the rule made wait.
 */
export const shareSlots = <D extends DueDelivery>(
  due: ReadonlyArray<D>,
  inFlight: ReadonlyArray<Recipient>,
  limits: SlotLimits
): { readonly chosen: ReadonlyArray<D>; readonly capped: number } => {
  const free = { working: limits.working, failing: limits.failing }
  const ofAccount = countsOf(inFlight.map(({ accountId }) => accountId))
  const atEndpoint = countsOf(inFlight.map(endpointKey))
  const waiting = Map.groupBy(due, ({ accountId }) => accountId)
  const chosen: Array<D> = []
  const capped = new Set<string>()

  /** The account's delivery that comes next, and whether the account may have a slot for it. */
  const nextOf = (accountId: string, attempts: number) => {
    const possible = (waiting.get(accountId) ?? [])
      .filter((it) => free[laneOf(it)] > 0 && atEndpoint.of(endpointKey(it)) < limits.perEndpoint)
      .sort((a, b) => atEndpoint.of(endpointKey(a)) - atEndpoint.of(endpointKey(b)))
    const next = possible.find((it) => attempts === 0 || attempts * freeSlotsPerAttempt < free[laneOf(it)])
    if (next === undefined && possible.length > 0) capped.add(accountId)
    return next
  }

  // Accounts with `attempts` in flight have their turn. One that gets a slot is in the next round.
  let round = [...waiting.keys()]
  for (let attempts = 0; round.length > 0; attempts++) {
    round = round.filter((accountId) => {
      if (ofAccount.of(accountId) > attempts) return true
      const next = nextOf(accountId, attempts)
      if (next === undefined) return false
      const rest = waiting.get(accountId)?.filter((it) => it !== next) ?? []
      waiting.set(accountId, rest)
      chosen.push(next)
      free[laneOf(next)] -= 1
      ofAccount.add(accountId)
      atEndpoint.add(endpointKey(next))
      return true
    })
  }
  return { chosen, capped: capped.size }
}
