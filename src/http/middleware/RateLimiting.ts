import { Effect, Layer, Metric } from "effect"
import { RateLimited } from "../../domain/errors.ts"
import { rateLimitOf } from "../../domain/Principal.ts"
import { limiterDecisions } from "../../services/Metrics.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { spanned } from "../../services/Tracing.ts"
import { setHeaders } from "../CurrentRequest.ts"
import { rateLimitHeaders } from "../headers.ts"
import { CurrentPrincipal, RateLimiting } from "../Middleware.ts"

export const layer = Layer.effect(
  RateLimiting,
  Effect.gen(function* () {
    const limiter = yield* RateLimiter

    const admit = Effect.gen(function* () {
      const principal = yield* CurrentPrincipal
      const decision = yield* spanned("RateLimiter.hit", {}, () => limiter.hit(rateLimitOf(principal)))
      yield* Metric.update(limiterDecisions.of(principal._tag, decision.admitted ? "admitted" : "refused"), 1)
      yield* setHeaders(rateLimitHeaders(decision))
      if (!decision.admitted) {
        return yield* new RateLimited({
          message: `The limit of ${decision.limit} requests per minute is spent. Try again in ${decision.retryAfterSeconds} s.`,
          retryAfterSeconds: decision.retryAfterSeconds
        })
      }
    })

    return (httpEffect) => Effect.andThen(admit, httpEffect)
  })
)
