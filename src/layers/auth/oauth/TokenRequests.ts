import { APIError, isAPIError } from "better-auth/api"
import { Duration, Effect, Predicate } from "effect"
import type { SqlClient } from "effect/sql"
import { refreshTokenPrefix } from "../../../domain/accounts/OAuth.ts"
import { waitText } from "../../../domain/text.ts"
import type { AttemptLimit, Attempts } from "../Attempts.ts"
import { type Bridge, commitErrors } from "../betterAuth/Database.ts"
import { currentNotes } from "../Requester.ts"
import type { Handler } from "./Handler.ts"
import { type Family, type RefreshTokens, repeatLimit } from "./RefreshTokens.ts"
import type { Registrations } from "./Registrations.ts"

/**
 * Of one client address. Only failures count, and only failures are refused: many people of a hosted platform share its
 * addresses, and one of them must not keep the others from refreshing their tokens.
 */
const failureLimit: AttemptLimit = { name: "token-failures", max: 60, window: Duration.minutes(1) }

const deletedTokens = 1000

export interface TokenDeps {
  readonly sql: SqlClient.SqlClient
  readonly bridge: Bridge
  readonly attempts: Attempts
  readonly registrations: Registrations
  readonly refreshTokens: RefreshTokens
}

/** The endpoint that exchanges codes and refresh tokens. */
export const makeTokenHandler = (deps: TokenDeps, endpoint: Handler): Handler =>
  limitFailures(deps, async (context) => {
    const { bridge, refreshTokens, sql } = deps
    await requireApp(deps, context)
    // Outside the transaction, so that its locks are released first.
    await bridge.run(deleteExpiredTokens(sql))
    try {
      const code = fieldOf(context, "code")
      if (code === undefined) return await refresh(deps, endpoint, context)
      return await commitErrors(bridge, async () => {
        await bridge.run(refreshTokens.lockFamilyOf(code))
        return endpoint(context)
      })
    } catch (error) {
      throw isOverGrant(error) ? invalidGrant(error.body?.error_description) : error
    }
  })

/** Revoking a refresh token ends its family. An unknown token counts as revoked (RFC 7009 section 2.2). */
export const makeRevocationHandler = (deps: TokenDeps, endpoint: Handler): Handler =>
  limitFailures(deps, async (context) => {
    const { bridge } = deps
    await requireApp(deps, context)
    const token = fieldOf(context, "token")
    if (token === undefined) return endpoint(context)
    if (token.startsWith(refreshTokenPrefix)) {
      const family = await bridge.run(deps.refreshTokens.find(fieldOf(context, "client_id") ?? "", token))
      if (family !== undefined) await endFamily(deps, family)
      return { response: null }
    }
    try {
      return await endpoint(context)
    } catch (error) {
      if (isAPIError(error) && error.statusCode === 400 && error.body?.error !== "invalid_client")
        return { response: null }
      throw error
    }
  })

const fieldOf = ({ body }: Parameters<Handler>[0], name: string): string | undefined => {
  const value = Predicate.hasProperty(body, name) ? body[name] : undefined
  return typeof value === "string" && value !== "" ? value : undefined
}

/** Clients register again after this error (RFC 6749 section 5.2). */
const requireApp = async ({ bridge, registrations }: TokenDeps, context: Parameters<Handler>[0]): Promise<void> => {
  const clientId = fieldOf(context, "client_id")
  if (clientId === undefined || (await bridge.run(registrations.use(clientId)))) return
  const error_description = "This client_id is not registered here, or its registration has expired. Register again."
  throw new APIError("UNAUTHORIZED", { error: "invalid_client", error_description })
}

const invalidGrant = (error_description = "The refresh token is not valid. Sign in again.") =>
  new APIError("BAD_REQUEST", { error: "invalid_grant", error_description })

const refresh = async (deps: TokenDeps, endpoint: Handler, context: Parameters<Handler>[0]): Promise<unknown> => {
  const { bridge, refreshTokens } = deps
  const [clientId, token] = [fieldOf(context, "client_id"), fieldOf(context, "refresh_token")]
  if (clientId === undefined || token === undefined) return endpoint(context)
  const family = await bridge.run(refreshTokens.find(clientId, token))
  if (family === undefined) return endpoint(context)
  if (family.is_late) {
    await endFamily(deps, family)
    throw invalidGrant("The refresh token was used before, so all tokens of this sign-in have ended. Sign in again.")
  }
  return commitErrors(bridge, async () => {
    const firstUse = await bridge.run(refreshTokens.begin(family))
    try {
      if (firstUse !== undefined) await countAttempt(deps, repeatLimit, `${clientId} ${token}`)
      return await endpoint(context)
    } finally {
      await bridge.run(refreshTokens.finish(family, firstUse))
    }
  })
}

const endFamily = ({ bridge, refreshTokens }: TokenDeps, family: Family) =>
  bridge.transaction(() => bridge.run(refreshTokens.end(family)))

const countAttempt = async ({ attempts, bridge }: TokenDeps, limit: AttemptLimit, key: string): Promise<void> => {
  const seconds = await bridge.run(attempts.count(limit, key))
  if (seconds === undefined) return
  const message = `Too many requests: at most ${limit.max} a minute. Try again in ${waitText(seconds)}.`
  throw new APIError("TOO_MANY_REQUESTS", { message }, { "x-retry-after": String(seconds) })
}

const limitFailures =
  (deps: TokenDeps, handler: Handler): Handler =>
  async (context) => {
    try {
      return await handler(context)
    } catch (error) {
      const { address } = currentNotes().requester
      const isFailure = isAPIError(error) && error.statusCode < 500 && error.statusCode !== 429
      if (isFailure && address !== "") await countAttempt(deps, failureLimit, address)
      throw error
    }
  }

/** The library has its own codes for a grant that is over, and clients sign in again only after `invalid_grant`. */
const isOverGrant = (error: unknown): error is APIError => {
  if (!isAPIError(error)) return false
  const { error: code, error_description: description } = error.body ?? {}
  // The token is unknown, or its person was deleted (RFC 6749 section 5.2).
  if (code === "invalid_token" || code === "invalid_user") return true
  // With 401, the `code_verifier` is wrong (RFC 7636 section 4.6).
  return code === "invalid_request" && (error.statusCode === 401 || overGrants.has(description))
}

const overGrants: ReadonlySet<unknown> = new Set(["session no longer exists", "user not found"])

const deleteExpiredTokens = (sql: SqlClient.SqlClient) =>
  Effect.forEach(
    ["auth_access_tokens", "auth_refresh_tokens"],
    (table) => sql`
      delete from ${sql(table)} where id in (
        select id from ${sql(table)} where expires_at < clock_timestamp()
        limit ${deletedTokens} for update skip locked
      )`
  )
