import { Context, Effect, Layer, Metric, Redacted } from "effect"
import { bearerToken, type CredentialHeaders, type CredentialKind, credentialKind } from "../domain/Credential.ts"
import { type Unauthorized, unauthorized } from "../domain/errors.ts"
import type { DemoPrincipal, Principal } from "../domain/Principal.ts"
import { AccessTokens } from "./AccessTokens.ts"
import { Deployment } from "./Deployment.ts"
import { KeyStore } from "./KeyStore.ts"
import { Marketplace } from "./Marketplace.ts"
import { authentications } from "./Metrics.ts"
import { Sessions } from "./Sessions.ts"
import { withSpan } from "./Tracing.ts"

/** What a request carries that tells who sends it. */
export interface RequestCredentials extends CredentialHeaders {
  /** The network a caller of the demo is counted by; undefined where none is known. */
  readonly network: string | undefined
}

/** The one place where credentials become a principal (R22). */
export class Credentials extends Context.Service<
  Credentials,
  {
    /**
     * Who sends a request to a route that accepts these kinds of credential. The first kind that is present is judged
     * and nothing falls through; one that the route does not accept is refused without being looked up.
     */
    readonly authenticate: (
      carried: RequestCredentials,
      accepted: ReadonlyArray<CredentialKind>
    ) => Effect.Effect<Principal, Unauthorized>
  }
>()("quarry/services/Credentials") {
  static readonly layer = Layer.effect(
    Credentials,
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const accessTokens = yield* AccessTokens
      const sessions = yield* Sessions
      const marketplace = yield* Marketplace
      const { demoOrigin } = yield* Deployment

      const demo = (
        origin: string | undefined,
        network: string | undefined
      ): Effect.Effect<DemoPrincipal, Unauthorized> =>
        demoOrigin === undefined || origin !== demoOrigin || network === undefined
          ? Effect.fail(unauthorized)
          : Effect.succeed({ _tag: "demo", network })

      const judge = (carried: RequestCredentials, kind: CredentialKind): Effect.Effect<Principal, Unauthorized> => {
        switch (kind) {
          case "key": {
            const token = bearerToken(carried.authorization ?? "")
            return token === undefined ? Effect.fail(unauthorized) : keys.authenticate(Redacted.make(token))
          }
          case "oauth":
            return accessTokens.authenticate(Redacted.make(bearerToken(carried.authorization ?? "") ?? ""))
          case "marketplace": {
            const { marketplaceSecret = "", marketplaceUser = "" } = carried
            return marketplace.authenticate(Redacted.make(marketplaceSecret), marketplaceUser)
          }
          case "session": {
            // One that was sent twice is ambiguous: a page of another subdomain may have planted the first.
            const [cookie, second] = carried.sessionCookies
            if (cookie === undefined || cookie === "" || second !== undefined) return Effect.fail(unauthorized)
            return sessions.authenticate(Redacted.make(cookie))
          }
          case "demo":
            return demo(carried.demoOrigin, carried.network)
        }
      }

      const authenticate = (
        carried: RequestCredentials,
        accepted: ReadonlyArray<CredentialKind>
      ): Effect.Effect<Principal, Unauthorized> => {
        const kind = credentialKind(carried)
        const count = (outcome: "accepted" | "refused") => Metric.update(authentications.of(kind ?? "none", outcome), 1)
        const judgement =
          kind === undefined || !accepted.includes(kind) ? Effect.fail(unauthorized) : judge(carried, kind)
        return judgement.pipe(
          Effect.tap(() => count("accepted")),
          Effect.tapError(() => count("refused"))
        )
      }

      return Credentials.of({
        authenticate: (carried, accepted) =>
          withSpan("Credentials.authenticate", {}, () => authenticate(carried, accepted))
      })
    })
  )
}
