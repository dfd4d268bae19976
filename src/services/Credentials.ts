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

/** Everything in a request that serves to authenticate its caller. */
export interface RequestCredentials extends CredentialHeaders {
  /** The network by which a caller of the demo is counted; undefined where it is not known. */
  readonly network: string | undefined
}

/** False for every credential of a suspended account (R49). */
const isActive = (principal: Principal): boolean =>
  principal._tag === "demo" || principal.account.suspendedAt === undefined

/** Authentication: the only place that turns credentials into a principal (R22). */
export class Credentials extends Context.Service<
  Credentials,
  {
    /**
     * Authenticates the caller of a route that accepts these kinds of credential. Only the first kind that is present
     * counts. A kind that the route does not accept fails without a look-up. A suspended account fails like an unknown
     * credential.
     */
    readonly authenticate: (
      credentials: RequestCredentials,
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

      const principalOf = (
        credentials: RequestCredentials,
        kind: CredentialKind
      ): Effect.Effect<Principal, Unauthorized> => {
        switch (kind) {
          case "key": {
            const token = bearerToken(credentials.authorization ?? "")
            return token === undefined ? Effect.fail(unauthorized) : keys.authenticate(Redacted.make(token))
          }
          case "oauth":
            return accessTokens.authenticate(Redacted.make(bearerToken(credentials.authorization ?? "") ?? ""))
          case "marketplace": {
            const { marketplaceSecret = "", marketplaceUser = "" } = credentials
            return marketplace.authenticate(Redacted.make(marketplaceSecret), marketplaceUser)
          }
          case "session": {
            // A cookie that was sent twice is ambiguous, because a page of another subdomain may have set the first.
            const [cookie, second] = credentials.sessionCookies
            if (cookie === undefined || cookie === "" || second !== undefined) return Effect.fail(unauthorized)
            return sessions.authenticate(Redacted.make(cookie))
          }
          case "demo":
            return demo(credentials.demoOrigin, credentials.network)
        }
      }

      const authenticate = (
        credentials: RequestCredentials,
        accepted: ReadonlyArray<CredentialKind>
      ): Effect.Effect<Principal, Unauthorized> => {
        const kind = credentialKind(credentials)
        const count = (outcome: "accepted" | "refused") => Metric.update(authentications.of(kind ?? "none", outcome), 1)
        const principal =
          kind === undefined || !accepted.includes(kind) ? Effect.fail(unauthorized) : principalOf(credentials, kind)
        return principal.pipe(
          Effect.filterOrFail(isActive, () => unauthorized),
          Effect.tap(() => count("accepted")),
          Effect.tapError(() => count("refused"))
        )
      }

      return Credentials.of({
        authenticate: (credentials, accepted) =>
          withSpan("Credentials.authenticate", {}, () => authenticate(credentials, accepted))
      })
    })
  )
}
