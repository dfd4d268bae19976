import { Clock, Effect, type Scope } from "effect"
import { HttpEffect, HttpRouter, type HttpServerRequest } from "effect/http"
import * as Routes from "../../../src/process/Routes.ts"
import { assertRateLimitFields, assertReset } from "./RateLimitFields.ts"

/** A complete response of the service. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape and asserts what it finds.
  readonly json: any
}

/** The API's own headers of a response, sorted, without the security headers that every response has. */
export const apiHeaders = ({ headers }: Answer): ReadonlyArray<string> =>
  [...headers.keys()]
    .filter((name) => /^(x-|ratelimit|retry-after$)/.test(name) && name !== "x-content-type-options")
    .sort()

export interface TestApi {
  readonly get: (path: string, headers?: Record<string, string>) => Effect.Effect<Answer>
  readonly send: (method: string, path: string, init?: RequestInit) => Effect.Effect<Answer>
}

/**
 * The whole public listener without a socket: real requests pass through router, middleware and handlers, with the
 * test's services and clock.
 */
export const make = Effect.gen(function* () {
  const app = yield* HttpRouter.toHttpEffect(Routes.layer).pipe(
    Effect.provideService(HttpRouter.RouterConfig, Routes.routerConfig)
  )
  const handler = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>(
    yield* Effect.context<never>()
  )(app)

  const respond: TestApi["send"] = (method, path, init) =>
    Effect.promise(async (signal) => {
      const response = await handler(new Request(`http://quarry.test${path}`, { ...init, method, signal }))
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        text,
        get json() {
          return JSON.parse(text)
        }
      }
    })

  const send = Effect.fnUntraced(function* (...request: Parameters<TestApi["send"]>) {
    const startedAtMs = yield* Clock.currentTimeMillis
    const answer = yield* respond(...request)
    const get = (name: string) => answer.headers.get(name)
    assertRateLimitFields(answer.status, get)
    assertReset(get, startedAtMs, yield* Clock.currentTimeMillis)
    return answer
  })

  const api: TestApi = { send, get: (path, headers = {}) => send("GET", path, { headers }) }
  return api
})

/** Dependencies of the listener. */
export type Services = Exclude<Effect.Services<typeof make>, Scope.Scope>
