import { isPausedBy } from "../../../domain/providers/pauses.ts"
import { toMoment } from "../../../domain/requests/fields.ts"
import type { ProviderPause } from "../../providers/ProviderPauses.ts"
import { sightsOf, toProviderStatus } from "../Overview.ts"
import type { Replica } from "../Replicas.ts"

export const pauseJson = ({ by, engine, provider, reason, since }: ProviderPause) => ({
  provider,
  engine: engine ?? null,
  by,
  reason,
  since: toMoment(since)
})

/** The longest cool-down of any replica. */
const coolDownOf = (sights: ReturnType<typeof sightsOf>[number]) => {
  const open = sights.filter(({ phase }) => phase === "open")
  if (open.length === 0) return null
  const until = Math.max(0, ...open.map(({ retryAt }) => retryAt ?? 0))
  const latest = open.toSorted((a, b) => (b.lastRefusal?.at ?? 0) - (a.lastRefusal?.at ?? 0))
  return { reason: latest[0]?.lastRefusal?.reason ?? null, until: until === 0 ? null : toMoment(until) }
}

/** Each provider as the running replicas report it. */
export const enginesJson = (replicas: ReadonlyArray<Replica>, pauses: ReadonlyArray<ProviderPause>) =>
  sightsOf(replicas).map((sights) => {
    const [{ engine, provider }] = sights
    const name = engine === null ? provider : `${provider}/${engine}`
    const calls = sights.reduce((sum, { recent }) => sum + (recent?.calls ?? 0), 0)
    const answers = sights.reduce((sum, { recent }) => sum + (recent?.answers ?? 0), 0)
    const pause = pauses.find((pause) => isPausedBy([pause], { name }))
    return {
      ...toProviderStatus(sights),
      cool_down: coolDownOf(sights),
      calls,
      success_rate: calls === 0 ? null : answers / calls,
      paused: pause === undefined ? null : pauseJson(pause),
      /** The number of replicas that skip it. `replicas` counts them too. */
      paused_replicas: sights.filter(({ isPaused }) => isPaused === true).length
    }
  })
