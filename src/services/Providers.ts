import { Clock, Context, Duration, Effect, Layer } from "effect"
import { UpstreamError, UpstreamTimeout } from "../domain/errors.ts"
import type { UpstreamRow } from "../domain/Organic.ts"
import type { SearchRequest } from "../domain/SearchRequest.ts"
import { type Target, targets } from "../domain/Target.ts"
import { Limits } from "./Limits.ts"
import { type Provider, Refusal } from "./Provider.ts"

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

        /** One provider with its share of what is left: a provider that hangs must leave time for those after it. */
        const attempt = (provider: Provider, request: SearchRequest, shareMs: number) =>
          provider.search(request).pipe(
            Effect.timeoutOrElse({
              duration: shareMs,
              orElse: () => Effect.fail(new Refusal({ reason: "timeout", message: `no answer in ${shareMs} ms` }))
            }),
            Effect.withSpan("Provider.search", { attributes: { "quarry.provider": provider.name } })
          )

        const search = Effect.fn("Providers.search")(function* (request: SearchRequest) {
          const providers = table[request.target]
          const deadline = (yield* Clock.currentTimeMillis) + budgetMs
          for (const [index, provider] of providers.entries()) {
            const leftMs = deadline - (yield* Clock.currentTimeMillis)
            if (leftMs <= 0) break
            const outcome = yield* Effect.result(attempt(provider, request, leftMs / (providers.length - index)))
            if (outcome._tag === "Success") return { provider: provider.name, rows: outcome.success }
            const { message, reason } = outcome.failure
            yield* Effect.logWarning(`Provider ${provider.name} refused ${request.target}: ${reason} (${message})`)
          }
          if ((yield* Clock.currentTimeMillis) >= deadline) {
            return yield* new UpstreamTimeout({
              message: `The search provider did not answer within ${Duration.format(providerTimeout)}.`
            })
          }
          return yield* new UpstreamError({
            message: "The search provider could not be reached or gave no usable answer."
          })
        })

        return Providers.of({ search })
      })
    )
}
