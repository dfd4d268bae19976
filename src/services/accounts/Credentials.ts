import { Context, Effect, Layer, Redacted } from "effect"
import type { NetAddress } from "effect/net"
import { accountAt } from "../../domain/accounts/Account.ts"
import {
  bearerToken,
  type CredentialHeaders,
  type CredentialKind,
  credentialKind
} from "../../domain/accounts/Credential.ts"
import { boundsOf, type DemoPrincipal, type Principal } from "../../domain/accounts/Principal.ts"
import { type Unauthorized, unauthorized } from "../../domain/errors.ts"
import { isWithin } from "../../domain/keys/KeyBounds.ts"
import { KeyStore } from "../keys/KeyStore.ts"
import { Deployment } from "../operations/Deployment.ts"
import { StoreClock, storeTime } from "../StoreClock.ts"
import { authentications } from "../telemetry/Metrics.ts"
import { withSpan } from "../telemetry/Tracing.ts"
import { AccessTokens } from "./AccessTokens.ts"
import { Marketplace } from "./Marketplace.ts"
import { Sessions } from "./Sessions.ts"

export interface RequestCredentials extends CredentialHeaders {
  /** The network that demo requests are counted by, if known. */
  readonly network: string | undefined
  /** The client's address (R24), read only for keys with networks. */
  readonly address: Effect.Effect<NetAddress.IpAddress | undefined>
}

const isActive = (principal: Principal): boolean =>
  principal._tag === "demo" || principal.account.suspendedAt === undefined

/** Applies a change of plan that has taken effect since the account was read. */
const atPresent = (principal: Principal, clock: StoreClock["Service"]): Effect.Effect<Principal> =>
  principal._tag === "demo" || principal.account.next === undefined
    ? Effect.succeed(principal)
    : Effect.map(storeTime(clock), (now) => ({ ...principal, account: accountAt(principal.account, now) }))

/** Rejects suspended accounts, and keys used outside their networks (R49, R50). */
const judge = (
  principal: Principal,
  { address }: RequestCredentials,
  clock: StoreClock["Service"]
): Effect.Effect<Principal, Unauthorized> => {
  if (!isActive(principal)) return Effect.fail(unauthorized)
  const networks = boundsOf(principal)?.networks
  if (networks === undefined) return atPresent(principal, clock)
  return Effect.flatMap(address, (value) =>
    isWithin(networks, value) ? atPresent(principal, clock) : Effect.fail(unauthorized)
  )
}

const countJudgement = (kind: CredentialKind | undefined, judged: Effect.Effect<Principal, Unauthorized>) =>
  Effect.withFiber<Principal, Unauthorized>(({ context }) => {
    const count = (outcome: "accepted" | "refused") =>
      authentications.of(kind ?? "none", outcome).updateUnsafe(1, context)
    return Effect.matchEffect(judged, {
      onFailure: (error) => {
        count("refused")
        return Effect.fail(error)
      },
      onSuccess: (value) => {
        count("accepted")
        return Effect.succeed(value)
      }
    })
  })

/** The only place that turns credentials into a principal (R22). */
export class Credentials extends Context.Service<
  Credentials,
  {
    /**
     * Only the first kind of credential present counts; a kind that the route does not accept fails without a lookup.
     * Suspended accounts and keys outside their networks fail like unknown credentials.
     */
    readonly authenticate: (
      credentials: RequestCredentials,
      accepted: ReadonlyArray<CredentialKind>
    ) => Effect.Effect<Principal, Unauthorized>
  }
>()("quarry/services/accounts/Credentials") {
  static readonly layer = Layer.effect(
    Credentials,
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const accessTokens = yield* AccessTokens
      const sessions = yield* Sessions
      const marketplace = yield* Marketplace
      const { demoOrigin } = yield* Deployment
      const clock = yield* StoreClock

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
            // Two cookies are ambiguous: a page on another subdomain may have set one of them.
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
        const principal =
          kind === undefined || !accepted.includes(kind) ? Effect.fail(unauthorized) : principalOf(credentials, kind)
        return countJudgement(
          kind,
          Effect.flatMap(principal, (value) => judge(value, credentials, clock))
        )
      }

      return Credentials.of({
        authenticate: (credentials, accepted) =>
          withSpan("Credentials.authenticate", {}, () => authenticate(credentials, accepted))
      })
    })
  )
}
