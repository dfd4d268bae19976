import { APIError } from "better-auth/api"
import { Duration, Effect, Metric, Predicate, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { clientSite } from "../../domain/accounts/ClientAddress.ts"
import { normalizeEmail } from "../../domain/accounts/emailAddress.ts"
import { isOpenTo, type SignUpPolicy, signUpDeniedCode, signUpLimitedCode } from "../../domain/accounts/signUp.ts"
import { waitText } from "../../domain/text.ts"
import { signUpsDenied } from "../../services/telemetry/Metrics.ts"
import { rowOf } from "../sql/Rows.ts"
import type { AttemptLimit, Attempts } from "./Attempts.ts"
import type { Bridge } from "./betterAuth/Database.ts"
import { logDenial } from "./betterAuth/logDenial.ts"
import { type HookContext, isStorable, textOf } from "./betterAuth/PasswordHooks.ts"
import { currentNotes } from "./Requester.ts"

/** Per IPv4 address or IPv6 /48 (R65). Counted in the database, because a day outlives restarts of Redis (R28). */
const signUpLimit: AttemptLimit = { name: "sign-ups", max: 20, window: Duration.days(1) }

type Reason = "closed" | "invite" | "domain"

interface Deps {
  readonly bridge: Bridge
  readonly signUps: SignUps
}

/** The same for every address, so that known addresses are not revealed. */
const messages: Readonly<Record<Reason, string>> = {
  closed: "Sign-up is closed on this server. Ask its operator for an account.",
  invite: "Sign-up is by invitation only, and this address has none. Ask the operator for an account.",
  domain: "Sign-up is not open to this address. Use your organization's address, or ask the operator for an account."
}

const note = (reason: Reason | "client") =>
  Effect.andThen(Metric.update(signUpsDenied.of(reason), 1), logDenial("A sign-up was denied", reason))

const invitedRow = rowOf(Schema.Struct({ is_invited: Schema.Boolean }))

export const makeSignUps = Effect.fnUntraced(function* (policy: SignUpPolicy, attempts: Attempts) {
  const sql = yield* SqlClient.SqlClient

  const isInvited = Effect.fnUntraced(function* (email: string) {
    const row = yield* invitedRow(sql`
      select exists (
        select from accounts a
        where a.email = ${email} and a.email <> '' and a.deleted_at is null
          and not exists (select from members m where m.account_id = a.id and m.user_id is not null)
      ) or exists (
        select from members m where m.email = ${email} and m.expires_at > clock_timestamp()
      ) as is_invited`)
    return row?.is_invited === true
  })

  const reasonToDeny = Effect.fnUntraced(function* (email: string) {
    if (policy.mode === "closed") return "closed" as const
    if (policy.mode === "open") return isOpenTo(policy, email) ? undefined : ("domain" as const)
    return (yield* isInvited(email)) ? undefined : ("invite" as const)
  })

  const check = Effect.fnUntraced(function* (email: string) {
    const reason = yield* reasonToDeny(normalizeEmail(email).replaceAll("\0", ""))
    if (reason === undefined) return
    yield* note(reason)
    return yield* Effect.fail(new APIError("FORBIDDEN", { code: signUpDeniedCode, message: messages[reason] }))
  })

  const count = Effect.fnUntraced(function* (client: string) {
    const site = clientSite(client)
    if (site === undefined) return
    const seconds = yield* attempts.count(signUpLimit, site)
    if (seconds === undefined) return
    yield* note("client")
    const message = `Too many sign-ups came from your network today. Try again in ${waitText(seconds)}.`
    const headers = { "x-retry-after": String(seconds) }
    return yield* Effect.fail(new APIError("TOO_MANY_REQUESTS", { code: signUpLimitedCode, message }, headers))
  })

  return { check, count }
})

const addressPattern = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

/** Responds alike for known and unknown addresses. A sign-up with rejected fields does not count. */
export const before = async ({ bridge, signUps }: Deps, context: HookContext) => {
  const { body, path } = context
  if (path !== "/sign-up/email" || !Predicate.isObject(body)) return
  const notes = currentNotes()
  const email = textOf(body, "email")
  await bridge.run(signUps.check(email))
  if (!isStorable(textOf(body, "password")) || !addressPattern.test(email)) return
  await bridge.run(signUps.count(notes.requester.address))
  notes.isAdmitted = true
}

export const beforePerson = async ({ bridge, signUps }: Deps, email: string) => {
  const { isAdmitted, requester } = currentNotes()
  if (isAdmitted) return
  await bridge.run(Effect.andThen(signUps.check(email), signUps.count(requester.address)))
}

export type SignUps = Effect.Success<ReturnType<typeof makeSignUps>>
