import { Clock, Duration, Effect, Exit, Schema } from "effect"
import { Refusal } from "../../../domain/providers/Refusal.ts"
import type { SearchRequest } from "../../../domain/search/SearchRequest.ts"
import type { Target } from "../../../domain/search/Target.ts"
import { DocumentIndex, type IndexStats } from "../../../services/index/DocumentIndex.ts"
import { untraced } from "../../../services/telemetry/Tracing.ts"
import { define } from "../ProviderType.ts"

/** Postgres cancels the statement; the embedded database runs it to the end. */
const statementTimeoutMs = 5_000

const tooSlow = new Refusal({ reason: "timeout", message: `the store did not respond within ${statementTimeoutMs} ms` })

/** Short for an empty index, because documents may be arriving. */
const countTtl = { some: Duration.minutes(5), none: Duration.seconds(5) }

const hasDocuments = ({ byTarget, documents }: IndexStats, target: Target): boolean =>
  documents > Object.values(byTarget).reduce((sum, count) => sum + count, 0) || (byTarget[target] ?? 0) > 0

export const type = define({
  options: Schema.Record(Schema.String, Schema.Never.annotate({ message: "is not allowed here" })),
  engines: "none",
  make: (name) =>
    Effect.gen(function* () {
      const index = yield* DocumentIndex
      let latest: IndexStats | undefined
      const count = yield* Effect.cachedWithTTL(
        Effect.tap(index.stats, (stats) => Effect.sync(() => (latest = stats))),
        (exit) => (Exit.isSuccess(exit) && exit.value.documents > 0 ? countTtl.some : countTtl.none)
      )
      // If counting fails, the search runs anyway and reports the reason.
      const countsNone = (target: Target) =>
        Effect.catchCause(
          Effect.map(count, (stats) => !hasDocuments(stats, target)),
          () => Effect.succeed(false)
        )
      // Counting reads the whole table, so a target that had documents is recounted in the background.
      const isEmpty = (target: Target) =>
        Effect.suspend(() =>
          latest !== undefined && hasDocuments(latest, target)
            ? Effect.as(Effect.forkDetach(untraced(countsNone(target))), false)
            : countsNone(target)
        )
      let loadingAt = Number.NEGATIVE_INFINITY
      const search = Effect.fnUntraced(function* (request: SearchRequest) {
        const { isLoading, rows } = yield* Effect.timeoutOrElse(index.search(request), {
          duration: statementTimeoutMs,
          orElse: () => Effect.fail(tooSlow)
        })
        if (isLoading) loadingAt = yield* Clock.currentTimeMillis
        return rows
      })
      const wasLoading = (since: number) => loadingAt >= since
      return () => ({ name, search, isEmpty, isLoading: index.isLoading, wasLoading })
    })
})
