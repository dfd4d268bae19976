import { Clock, Effect, Ref, Stdio, Stream } from "effect"
import { plural } from "../../domain/text.ts"

/** A terminal redraws one line; a log gets a new line each time. */
const intervalMs = { terminal: 250, log: 30_000 }

const count = (value: number): string => Math.round(value).toLocaleString("en")

const duration = (seconds: number): string => {
  if (seconds < 90) return `${Math.ceil(seconds)} s`
  return seconds < 5_400 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`
}

/** Below this share, the estimate of the remaining time is too rough to show. */
const minShare = 0.01

export const progressLine = (what: string, documents: number, elapsedMs: number, share: number): string => {
  const parts = [`${what} ${plural(documents, "document")}`]
  if (elapsedMs > 0) parts.push(`${count((documents * 1_000) / elapsedMs)}/s`)
  if (share >= minShare && share < 1) parts.push(`${duration((elapsedMs * (1 - share)) / share / 1_000)} left`)
  return parts.join(", ")
}

export const withProgress =
  (what: string, share: Effect.Effect<number>) =>
  <A, E, R>(documents: Stream.Stream<A, E, R>) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const stdio = yield* Stdio.Stdio
        const isTerminal = yield* stdio.stderrIsTerminal
        const write = (text: string) => Effect.ignore(Stream.run(Stream.make(text), stdio.stderr({ endOnDone: false })))
        const startedAt = yield* Clock.currentTimeMillis
        const state = yield* Ref.make({ documents: 0, saidAt: startedAt })
        const say = Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const reported = yield* Ref.modify(state, ({ documents, saidAt }) => {
            const isDue = now - saidAt >= (isTerminal ? intervalMs.terminal : intervalMs.log)
            return [isDue ? documents + 1 : undefined, { documents: documents + 1, saidAt: isDue ? now : saidAt }]
          })
          if (reported === undefined) return
          const line = progressLine(what, reported, now - startedAt, yield* share)
          yield* write(isTerminal ? `\r\u001b[K${line}` : `${line}\n`)
        })
        return documents.pipe(
          Stream.tap(() => say),
          Stream.ensuring(isTerminal ? write("\r\u001b[K") : Effect.void)
        )
      })
    )
