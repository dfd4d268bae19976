import { appendQueryParams } from "@better-auth/core/utils/url"
import type { ValidateUserInfoSource } from "better-auth"
import { APIError, getSessionFromCtx } from "better-auth/api"
import { parseState } from "better-auth/oauth2"
import { Duration, Effect, type Redacted, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { normalizeEmail } from "../../../domain/accounts/emailAddress.ts"
import { requiresSingleSignOn, type SingleSignOnRule, singleSignOnCode } from "../../../domain/accounts/singleSignOn.ts"
import { idRow, rowOf } from "../../sql/Rows.ts"
import type { AttemptLimit, Attempts } from "../Attempts.ts"
import type { Bridge } from "../betterAuth/Database.ts"
import { digestOf } from "../betterAuth/Digest.ts"
import { type HookContext, textOf } from "../betterAuth/PasswordHooks.ts"
import { forgetCredentials } from "../MembersBetterAuth.ts"
import type { OpenId } from "./OpenIdProvider.ts"

// The rules of R66 for sign-in at providers, and for addresses that must use the OpenID provider.

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly bridge: Bridge
  readonly attempts: Attempts
  readonly options: { readonly secret: Redacted.Redacted; readonly oidc?: SingleSignOnRule | undefined }
  readonly openId: OpenId | undefined
}

/** Longer than the ten minutes for which the library accepts a state. */
const stateLimit: AttemptLimit = { name: "provider states", max: 1, window: Duration.hours(1) }

const callbackPath = "/callback/:id"

const passwordPaths: ReadonlySet<string> = new Set([
  "/sign-up/email",
  "/sign-in/email",
  "/send-verification-email",
  "/request-password-reset",
  "/reset-password",
  "/change-password"
])

const emailRow = rowOf(Schema.Struct({ email: Schema.String }))

const messageOf = ({ name }: SingleSignOnRule): string => `People with this address sign in with ${name}.`

/** The same for known and unknown addresses. */
const denied = (rule: SingleSignOnRule) =>
  new APIError("FORBIDDEN", { code: singleSignOnCode, message: messageOf(rule) })

const addressOf = async ({ bridge, options, sql }: Deps, context: HookContext): Promise<string> => {
  if (context.path === "/change-password") return (await getSessionFromCtx(context))?.user.email ?? ""
  if (context.path !== "/reset-password") return textOf(context.body ?? {}, "email")
  const digest = digestOf(options.secret, "verification", `reset-password:${textOf(context.body ?? {}, "token")}`)
  const row = await bridge.run(
    emailRow(sql`
    select u.email from auth_verifications v join auth_users u on u.id = v.value where v.digest = ${digest}`)
  )
  return row?.email ?? ""
}

/** Without this, a response could be used again as long as the browser sends the cookie with its state. */
const consumeState = async ({ attempts, bridge, openId }: Deps, context: HookContext) => {
  const { codeVerifier, errorURL = "" } = await parseState(context)
  const fail = (error: string) => {
    throw context.redirect(appendQueryParams(errorURL, new URLSearchParams({ error })))
  }
  if ((await bridge.run(attempts.count(stateLimit, codeVerifier))) !== undefined) fail("state_mismatch")
  if (openId === undefined || context.params?.id !== "oidc") return
  if (!(await openId.isIssuer(context.query?.iss).catch(() => false))) fail("issuer_mismatch")
}

export const before = async (deps: Deps, context: HookContext) => {
  const { oidc } = deps.options
  if (context.path === callbackPath) return consumeState(deps, context)
  if (oidc === undefined || !passwordPaths.has(context.path ?? "")) return
  if (requiresSingleSignOn(oidc, await addressOf(deps, context))) throw denied(oidc)
}

/** Runs when a provider's person signs in, is linked to a person, or becomes one. */
export const validatePerson = (
  { options: { oidc } }: Pick<Deps, "options">,
  user: { readonly email?: string | undefined; readonly emailVerified?: boolean | undefined },
  { action, method, oauth }: ValidateUserInfoSource
) => {
  if (method !== "oauth") return undefined
  // An unconfirmed person with this identity would take the address from its owner.
  if (action !== "sign-in" && user.emailVerified !== true) return { error: "email_not_verified" }
  if (oidc === undefined || oauth?.providerId === "oidc" || !requiresSingleSignOn(oidc, user.email ?? "")) {
    return undefined
  }
  return { error: singleSignOnCode, errorDescription: messageOf(oidc) }
}

/** Covers all ways to sign in. A second factor continues a sign-in that this has allowed. */
export const beforeSession = async ({ bridge, options, sql }: Deps, userId: string, context: HookContext | null) => {
  const { oidc } = options
  const isAllowed = context?.path === callbackPath && context.params?.id === "oidc"
  if (oidc === undefined || isAllowed) return
  const person = await bridge.run(emailRow(sql`select email from auth_users where id = ${userId}`))
  if (requiresSingleSignOn(oidc, person?.email ?? "")) throw denied(oidc)
}

/**
 * Confirms an address that must use the provider, which has just confirmed it. Nothing of a person who signed up with it
 * before and did not confirm it remains.
 */
export const takeAddress =
  (sql: SqlClient.SqlClient, rule: SingleSignOnRule) =>
  (address: string): Effect.Effect<unknown, unknown> => {
    const email = normalizeEmail(address).replaceAll("\0", "")
    if (!requiresSingleSignOn(rule, email)) return Effect.void
    return sql.withTransaction(
      Effect.gen(function* () {
        const person = yield* idRow(sql`
          select u.id from auth_users u where u.email = ${email} and not u.email_verified
            and not exists (select from auth_identities i where i.user_id = u.id and i.provider = 'oidc')
          for update`)
        if (person === undefined) return
        yield* forgetCredentials(sql, person.id)
        yield* sql`update auth_users set email_verified = true where id = ${person.id}`
      })
    )
  }
