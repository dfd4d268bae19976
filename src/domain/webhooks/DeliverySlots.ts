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

/**
 * The next slot goes to the account with the fewest attempts in flight; ties keep the order of `due` (R53). Each
 * further attempt of an account needs four free slots per attempt in flight: without this rule, a few accounts with
 * hanging receivers could hold all the slots. `inFlight` covers all replicas. `capped` counts accounts made to wait.
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

  const nextOf = (accountId: string, attempts: number) => {
    const possible = (waiting.get(accountId) ?? [])
      .filter((delivery) => free[laneOf(delivery)] > 0 && atEndpoint.get(endpointKey(delivery)) < limits.perEndpoint)
      .sort((a, b) => atEndpoint.get(endpointKey(a)) - atEndpoint.get(endpointKey(b)))
    const next = possible.find((delivery) => attempts === 0 || attempts * freeSlotsPerAttempt < free[laneOf(delivery)])
    if (next === undefined && possible.length > 0) capped.add(accountId)
    return next
  }

  // Round n serves accounts with n attempts in flight. An account that gets a slot continues in the next round.
  let round = [...waiting.keys()]
  for (let attempts = 0; round.length > 0; attempts++) {
    round = round.filter((accountId) => {
      if (ofAccount.get(accountId) > attempts) return true
      const next = nextOf(accountId, attempts)
      if (next === undefined) return false
      const rest = waiting.get(accountId)?.filter((delivery) => delivery !== next) ?? []
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
