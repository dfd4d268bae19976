import { FairQueue } from "../fairness/FairQueue.ts"

export interface Recipient {
  readonly accountId: string
  readonly endpointId: string | undefined
}

export interface DueDelivery extends Recipient {
  readonly id: string
  readonly isFailing: boolean
}

export interface SlotLimits {
  /** Free slots of this process: for healthy endpoints and emails, and for endpoints whose last attempt failed. */
  readonly working: number
  readonly failing: number
  /** Concurrent attempts at one endpoint, or concurrent emails of all accounts, across all replicas. */
  readonly perEndpoint: number
}

const freeSlotsPerAttempt = 4

interface Counts {
  readonly get: (key: string) => number
  readonly add: (key: string) => void
}

const countsOf = (keys: ReadonlyArray<string>): Counts => {
  const counts = new Map<string, number>()
  const get = (key: string) => counts.get(key) ?? 0
  const add = (key: string) => void counts.set(key, get(key) + 1)
  keys.forEach(add)
  return { get, add }
}

const endpointKey = ({ endpointId }: Recipient): string => endpointId ?? "email"

const laneOf = ({ isFailing }: DueDelivery) => (isFailing ? "failing" : "working")

const unlimited = { items: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }

/**
 * The next slot goes to the account with the fewest attempts in flight; ties keep the order of `due` (R53). Of its
 * deliveries, the one whose endpoint has the fewest attempts goes first. Each further attempt of an account needs four
 * free slots per attempt in flight: without this rule, a few accounts with hanging receivers could hold all the slots.
 * `inFlight` covers all replicas. `capped` counts accounts made to wait.
 */
export const shareSlots = <D extends DueDelivery>(
  due: ReadonlyArray<D>,
  inFlight: ReadonlyArray<Recipient>,
  limits: SlotLimits
): { readonly chosen: ReadonlyArray<D>; readonly capped: number } => {
  const free = { working: limits.working, failing: limits.failing }
  const ofAccount = countsOf(inFlight.map(({ accountId }) => accountId))
  const atEndpoint = countsOf(inFlight.map(endpointKey))
  const chosen: Array<D> = []
  const capped = new Set<string>()
  const queue = new FairQueue<D>(unlimited)
  for (const delivery of due) queue.offer(delivery.accountId, delivery, 0)
  // Each attempt costs its account one.
  for (const { accountId } of inFlight) queue.charge(accountId, 1)

  const rankOf = (delivery: D): number => {
    const { accountId } = delivery
    const atItsEndpoint = atEndpoint.get(endpointKey(delivery))
    const freeSlots = free[laneOf(delivery)]
    if (freeSlots === 0 || atItsEndpoint >= limits.perEndpoint) return Number.POSITIVE_INFINITY
    const attempts = ofAccount.get(accountId)
    if (attempts === 0 || attempts * freeSlotsPerAttempt < freeSlots) return atItsEndpoint
    capped.add(accountId)
    return Number.POSITIVE_INFINITY
  }

  for (let next = queue.take(rankOf); next !== undefined; next = queue.take(rankOf)) {
    const { accountId, item } = next
    queue.finish(accountId, 1)
    capped.delete(accountId)
    chosen.push(item)
    free[laneOf(item)] -= 1
    ofAccount.add(accountId)
    atEndpoint.add(endpointKey(item))
  }
  return { chosen, capped: capped.size }
}
