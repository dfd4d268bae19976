import { Clock, Effect, Layer } from "effect"
import { intervalMs, Pacer } from "../../services/providers/Pacer.ts"

/** Needs no limit on names, because they come from the provider file. */
export const layer: Layer.Layer<Pacer> = Layer.sync(Pacer, () => {
  const nextAt = new Map<string, number>()
  return Pacer.of({
    take: ({ name, perSecond, withinMs }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const turn = Math.max(now, nextAt.get(name) ?? now)
        if (turn - now > withinMs) return undefined
        nextAt.set(name, turn + intervalMs(perSecond))
        return turn - now
      })
  })
})
