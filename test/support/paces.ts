import { assert } from "@effect/vitest"
import { Effect, Layer, type Redacted } from "effect"
import * as PacerRedis from "../../src/layers/redis/PacerRedis.ts"
import { RedisConnection } from "../../src/layers/redis/RedisConnection.ts"
import { Pacer } from "../../src/services/providers/Pacer.ts"

/** A turn begins between the two: Redis named it while it was waited for. */
export interface Turn {
  readonly earliest: number
  readonly latest: number
}

/** A replica's pacer. A busy machine may keep Redis from answering, and then it would keep the pace by itself. */
export const replicaPacer = (url: Redacted.Redacted) =>
  Layer.provide(PacerRedis.layer, RedisConnection.layer({ url, answerMs: 60_000 }))

/** A replica's pacer that records its turns. */
export const noting = (turns: Array<Turn>, url: Redacted.Redacted) =>
  Layer.effect(
    Pacer,
    Effect.map(Pacer, ({ take }) =>
      Pacer.of({
        take: (pace) =>
          Effect.suspend(() => {
            const askedAt = performance.now()
            return Effect.tap(take(pace), (waitMs) =>
              Effect.sync(() => {
                if (waitMs !== undefined) turns.push({ earliest: askedAt + waitMs, latest: performance.now() + waitMs })
              })
            )
          })
      })
    )
  ).pipe(Layer.provide(replicaPacer(url)))

const timerMs = 2

/** No second has more turns than it may, and no call was before its turn. Returns when the turns were. */
export const assertPace = (turns: ReadonlyArray<Turn>, arrivals: ReadonlyArray<number>, perSecond: number) => {
  // By turns, because a busy machine sends a request late and the next one not.
  const [earliest, latest] = [turns.map((turn) => turn.earliest), turns.map((turn) => turn.latest)]
  for (const times of [earliest, latest]) times.sort((a, b) => a - b)
  for (const [n, next] of latest.slice(perSecond).entries()) assert.isAtLeast(next - (earliest[n] ?? 0), 1_000)
  for (const [n, at] of arrivals.entries()) assert.isAtMost((earliest[n] ?? 0) - at, timerMs, "before its turn")
  return { first: earliest[0] ?? 0, last: latest.at(-1) ?? 0 }
}
