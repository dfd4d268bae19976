import {
  authorizationCodeRequest,
  createAuthorizationURL,
  type OAuth2Tokens,
  type OAuthProvider
} from "@better-auth/core/oauth2"
import type { BetterAuthPlugin } from "better-auth"
import { APIError } from "better-auth/api"
import { Cache, Data, Duration, Effect, Exit, Predicate, Redacted, Schema } from "effect"
import { createRemoteJWKSet, customFetch, jwtVerify } from "jose"
import { isProviderAddress, providerUnreachableCode } from "../../../domain/accounts/singleSignOn.ts"
import { isCarriable, partBefore } from "../../../domain/text.ts"
import { version } from "../../../domain/version.ts"
import * as Exchange from "../../outgoing/Exchange.ts"
import type { Bridge } from "../betterAuth/Database.ts"
import type { SingleSignOn } from "../betterAuth/Options.ts"

// An OpenID Connect client (OpenID Connect Core 1.0). The library's `genericOAuth` fetches discovery and keys without
// limits, and gives the nonce to nobody else, so it cannot be used.

const limits = {
  metadata: Duration.hours(1),
  /** Protects a failing provider from a request for each click. */
  failure: Duration.seconds(5),
  /** Between the clocks of the provider and this machine. */
  clockSeconds: 30,
  idToken: "10 minutes"
}

const exchangeLimits: Exchange.ExchangeLimits = {
  timeout: Duration.seconds(5),
  maxBodyBytes: 256 * 1024,
  maxReceivedBytes: 1024 * 1024
}

/** Only public-key signatures: with HS256 anyone who knows the client secret could sign. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]

const Metadata = Schema.Struct({
  issuer: Schema.String,
  authorization_endpoint: Schema.String,
  token_endpoint: Schema.String,
  jwks_uri: Schema.String,
  userinfo_endpoint: Schema.optionalKey(Schema.String),
  token_endpoint_auth_methods_supported: Schema.optionalKey(Schema.Array(Schema.String)),
  authorization_response_iss_parameter_supported: Schema.optionalKey(Schema.Boolean)
})

const Tokens = Schema.Struct({ id_token: Schema.String, access_token: Schema.optionalKey(Schema.String) })

const Claims = Schema.Struct({
  sub: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255), Schema.makeFilter(isCarriable)),
  email: Schema.optionalKey(Schema.Unknown),
  email_verified: Schema.optionalKey(Schema.Unknown),
  /** Microsoft Entra ID's name for `email_verified`: the tenant owns the domain of the address. */
  xms_edov: Schema.optionalKey(Schema.Unknown)
})
type Claims = typeof Claims.Type

/** `reason` is only for the operator. */
export class OpenIdFailed extends Data.TaggedError("OpenIdFailed")<{ readonly reason: string }> {}

const failed = (reason: string) => Effect.fail(new OpenIdFailed({ reason }))

type Request = Pick<Exchange.OutgoingRequest, "body" | "method"> & { readonly headers?: Record<string, string> }

const send = Effect.fnUntraced(function* (address: string, { headers, ...request }: Request) {
  const url = new URL(address)
  const { body, status } = yield* Exchange.exchange(
    { ...request, url, headers: { accept: "application/json", "user-agent": `Quarry/${version}`, ...headers } },
    // The operator chose the provider, which may be on a private network.
    { allowsPrivate: true },
    exchangeLimits
  ).pipe(Effect.catch(({ reason }) => failed(`${url.host} cannot be reached: ${reason}`)))
  const text = body.toString("utf8")
  if (status === 200) return text
  const [, code = ""] = /"error"\s*:\s*"([a-z_]{1,40})"/.exec(text) ?? []
  return yield* failed(`${url.host}${url.pathname} responded with ${status} ${code}`.trim())
})

const decodeMetadata = Schema.decodeUnknownEffect(Schema.fromJsonString(Metadata))
const decodeTokens = Schema.decodeUnknownEffect(Schema.fromJsonString(Tokens))
const decodeUserinfo = Schema.decodeUnknownEffect(Schema.fromJsonString(Claims))
const decodeClaims = Schema.decodeUnknownEffect(Claims)

const valid = <A>(decoded: Effect.Effect<A, Schema.SchemaError>, what: string) =>
  Effect.mapError(decoded, () => new OpenIdFailed({ reason: `the ${what} is not valid` }))

const readMetadata = Effect.fnUntraced(function* (issuer: string) {
  const text = yield* send(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, { method: "GET" })
  const metadata = yield* valid(decodeMetadata(text), "discovery document")
  if (metadata.issuer !== issuer) {
    return yield* failed(`OIDC_ISSUER is ${issuer}, but the provider calls itself ${metadata.issuer.slice(0, 200)}`)
  }
  const { authorization_endpoint, jwks_uri, token_endpoint, userinfo_endpoint = issuer } = metadata
  const isAllowed = (address: string) =>
    isProviderAddress(address) && (address.startsWith("https:") || issuer.startsWith("http:"))
  if (![authorization_endpoint, jwks_uri, token_endpoint, userinfo_endpoint].every(isAllowed)) {
    return yield* failed("the discovery document has an endpoint without https")
  }
  return metadata
})

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown")

const isTrue = (value: unknown): boolean => [true, "true", 1, "1"].some((other) => other === value)

const makeClient = Effect.fnUntraced(function* (options: SingleSignOn, { run }: Pick<Bridge, "run">) {
  const { clientId, clientSecret, issuer } = options

  const discover = Effect.fnUntraced(function* () {
    const metadata = yield* readMetadata(issuer)
    const keys = createRemoteJWKSet(new URL(metadata.jwks_uri), {
      [customFetch]: async (address) => new Response(await run(send(address, { method: "GET" })))
    })
    return { metadata, keys }
  })
  const cache = yield* Cache.makeWith(discover, {
    capacity: 1,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? limits.metadata : limits.failure)
  })
  const discovered = Cache.get(cache, issuer)

  const redeem = Effect.fnUntraced(function* (grant: Parameters<OAuthProvider["validateAuthorizationCode"]>[0]) {
    const { metadata } = yield* discovered
    const methods = metadata.token_endpoint_auth_methods_supported ?? ["client_secret_basic"]
    const { body, headers } = yield* Effect.promise(() =>
      authorizationCodeRequest({
        ...grant,
        options: { clientId, clientSecret: Redacted.value(clientSecret) },
        authentication: methods.includes("client_secret_basic") ? "basic" : "post"
      })
    )
    const text = yield* send(metadata.token_endpoint, { method: "POST", headers, body: body.toString() })
    const { access_token: accessToken, id_token: idToken } = yield* valid(decodeTokens(text), "token response")
    return { idToken, accessToken }
  })

  /** Checks what OpenID Connect Core 1.0 lists in 3.1.3.7. */
  const verify = Effect.fnUntraced(function* (idToken: string, expectedNonce: string) {
    const { keys } = yield* discovered
    const { payload } = yield* Effect.tryPromise({
      try: () =>
        jwtVerify(idToken, keys, {
          issuer,
          audience: clientId,
          algorithms,
          requiredClaims: ["sub", "exp", "iat"],
          maxTokenAge: limits.idToken,
          clockTolerance: limits.clockSeconds
        }),
      catch: (error) => new OpenIdFailed({ reason: `the ID token is not valid: ${reasonOf(error)}` })
    })
    const { aud, azp, nonce } = payload
    const isForUs = azp === undefined ? [aud].flat().length === 1 : azp === clientId
    if (!isForUs) return yield* failed("the ID token is for another client")
    if (nonce !== expectedNonce) return yield* failed("the ID token has another nonce")
    return yield* valid(decodeClaims(payload), "ID token")
  })

  const readClaims = Effect.fnUntraced(function* (tokens: OAuth2Tokens, expectedNonce: string) {
    const { metadata } = yield* discovered
    const claims = yield* verify(tokens.idToken ?? "", expectedNonce)
    const { userinfo_endpoint } = metadata
    // Many providers put the address, or whether it is verified, only there.
    const isComplete = claims.email !== undefined && (claims.email_verified ?? claims.xms_edov) !== undefined
    if (isComplete || userinfo_endpoint === undefined || tokens.accessToken === undefined) return claims
    const headers = { authorization: `Bearer ${tokens.accessToken}` }
    const text = yield* send(userinfo_endpoint, { method: "GET", headers })
    const more = yield* valid(decodeUserinfo(text), "userinfo response")
    return more.sub === claims.sub
      ? { ...claims, ...more }
      : yield* failed("the userinfo response is about someone else")
  })

  return { discovered, redeem, readClaims }
})

const noteFailure = ({ reason }: OpenIdFailed) =>
  Effect.annotateLogs(Effect.logWarning("Single sign-on failed"), { reason })

const unreachable = () => {
  const message = "The identity provider does not respond. Try again in a minute, or ask the operator of this server."
  throw new APIError("FAILED_DEPENDENCY", { code: providerUnreachableCode, message })
}

export interface OpenIdOptions extends SingleSignOn {
  /** Called with each confirmed address before its person is looked up. */
  readonly onConfirmed: (email: string) => Effect.Effect<unknown, unknown>
}

export const make = Effect.fnUntraced(function* (options: OpenIdOptions, bridge: Pick<Bridge, "run">) {
  const { clientId, issuer, name, onConfirmed } = options
  const client = yield* makeClient(options, bridge)
  const run = <A>(effect: Effect.Effect<A, OpenIdFailed>) => bridge.run(Effect.tapError(effect, noteFailure))

  const provider: OAuthProvider<Claims> = {
    id: "oidc",
    name,
    issuer,
    requiresIdTokenNonce: true,
    // A different issuer may give the same subject to someone else.
    accountSubject: ({ profile }) => `${issuer} ${profile.sub}`,
    createAuthorizationURL: async ({ codeVerifier, idTokenNonce, redirectURI, state }) => {
      const { metadata } = await run(client.discovered).catch(unreachable)
      return createAuthorizationURL({
        id: "oidc",
        options: { clientId },
        authorizationEndpoint: metadata.authorization_endpoint,
        scopes: ["openid", "email"],
        codeVerifier,
        nonce: idTokenNonce,
        redirectURI,
        state
      })
    },
    validateAuthorizationCode: (grant) => run(client.redeem(grant)),
    getUserInfo: async ({ expectedIdTokenNonce = "", ...tokens }) => {
      const claims = await run(client.readClaims(tokens, expectedIdTokenNonce)).catch(() => undefined)
      if (claims === undefined) return null
      const email = Predicate.isString(claims.email) && isCarriable(claims.email) ? claims.email : undefined
      const emailVerified = isTrue(claims.email_verified) || isTrue(claims.xms_edov)
      if (email !== undefined && emailVerified) await bridge.run(onConfirmed(email))
      // The library requires a name, which Quarry never shows.
      return { user: { email, emailVerified, name: email && partBefore(email, "@") }, data: claims }
    },
    options: { disableIdTokenSignIn: true }
  }

  const plugin: BetterAuthPlugin = {
    id: "oidc",
    init: ({ socialProviders }) => ({ context: { socialProviders: [...socialProviders, provider] } })
  }

  /** False if the response is from another issuer, or names none although this provider always does (RFC 9207, 2.4). */
  const isIssuer = async (iss: unknown): Promise<boolean> => {
    if (iss !== undefined) return iss === issuer
    const { metadata } = await run(client.discovered)
    return metadata.authorization_response_iss_parameter_supported !== true
  }

  return { plugin, isIssuer }
})

export type OpenId = Effect.Success<ReturnType<typeof make>>
