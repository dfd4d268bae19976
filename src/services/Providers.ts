import { Clock, Context, Duration, Effect, Layer, Result } from "effect"
import { UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import type { UpstreamRow } from "../domain/Organic.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import { type Target, targets } from "../domain/Target.ts"
import { Limits } from "./Limits.ts"
import type { Provider } from "./Provider.ts"

export interface Found {
  /** Name of the provider that answered. */
  readonly provider: string
  readonly rows: ReadonlyArray<UpstreamRow>
}

/** For each target its providers in failover order. */
export type ProviderTable = { readonly [T in Target]: ReadonlyArray<Provider> }

/**
 * The engines behind the targets. A target's providers are asked in order until one answers; all attempts share one
 * time budget, 15 seconds by default.
 */
export class Providers extends Context.Service<
  Providers,
  {
    readonly search: (request: SearchRequest) => Effect.Effect<Found, UpstreamError | UpstreamTimeout>
  }
>()("quarry/services/Providers") {
  static readonly layer = (table: ProviderTable): Layer.Layer<Providers> =>
    Layer.effect(
      Providers,
      Effect.gen(function* () {
        const { providerTimeout } = yield* Limits
        const budgetMs = Duration.toMillis(providerTimeout)
        for (const target of targets) {
          if (table[target].length === 0) {
            yield* Effect.logWarning(`No provider serves ${target}: it answers upstream_error to every search.`)
          }
        }

        /**
         * One provider with its share of what is left: a provider that hangs must leave time for those after it.
         * Undefined when its share ran out, which is not the same as a provider that says its engine timed out.
         */
        const attempt = (provider: Provider, request: SearchRequest, shareMs: number) =>
          provider
            .search(request)
            .pipe(
              Effect.timeoutOrElse({ duration: shareMs, orElse: () => Effect.succeed(undefined) }),
              Effect.withSpan("Provider.search", { attributes: { "quarry.provider": provider.name } })
            )

        const search = Effect.fn("Providers.search")(function* (request: SearchRequest) {
          const providers = table[request.target]
          const deadline = (yield* Clock.currentTimeMillis) + budgetMs
          const refused = (provider: Provider, why: string) =>
            Effect.logWarning(`Provider ${provider.name} refused ${request.target}: ${why}`)

          for (const [index, provider] of providers.entries()) {
            const leftMs = deadline - (yield* Clock.currentTimeMillis)
            const shareMs = Math.ceil(leftMs / (providers.length - index))
            const outcome = yield* Effect.result(attempt(provider, request, shareMs))
            if (Result.isFailure(outcome)) {
              yield* refused(provider, `${outcome.failure.reason} (${outcome.failure.message})`)
            } else if (outcome.success !== undefined) {
              return { provider: provider.name, rows: outcome.success }
            } else {
              yield* refused(provider, `timeout (no answer in ${shareMs} ms)`)
              // The last one's share is all that was left. The clock is not asked, as a timer may ring a little early.
              if (index === providers.length - 1) return yield* timedOut(providerTimeout)
            }
          }
          return yield* new UpstreamError({
            message: "The search provider could not be reached or gave no usable answer."
          })
        })

        return Providers.of({ search })
      })
    )
}

const timedOut = (budget: Duration.Duration): UpstreamTimeout =>
  new UpstreamTimeout({ message: `The search provider did not answer within ${Duration.format(budget)}.` })
