import { Effect, Layer, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { unauthorized } from "../../domain/errors.ts"
import { KeyStore } from "../../services/KeyStore.ts"
import { Authentication, CurrentPrincipal } from "../Middleware.ts"

const bearer = /^Bearer +([^\s]+)$/i

/** Headers of other credentials: together with `Authorization` they are refused whatever their validity (R22). */
const conflicting = ["x-demo-origin", "x-marketplace-proxy-secret", "x-marketplace-user"]

export const layer = Layer.effect(
  Authentication,
  Effect.gen(function* () {
    const keys = yield* KeyStore

    const authenticate = Effect.fn("Authentication.authenticate")(function* () {
      const { headers } = yield* HttpServerRequest.HttpServerRequest
      const secret = bearer.exec(headers.authorization ?? "")?.[1]
      if (secret === undefined || conflicting.some((name) => headers[name] !== undefined)) return yield* unauthorized
      return yield* keys.authenticate(Redacted.make(secret))
    })

    return (httpEffect) =>
      Effect.flatMap(authenticate(), (it) => Effect.provideService(httpEffect, CurrentPrincipal, it))
  })
)
