import { APIError, getSessionFromCtx, isAPIError } from "better-auth/api"
import { hashPassword, verifyPassword } from "better-auth/crypto"
import { Duration, Effect, Metric, Predicate } from "effect"
import { clientSite } from "../../../domain/accounts/ClientAddress.ts"
import { normalizeEmail } from "../../../domain/accounts/emailAddress.ts"
import { waitText } from "../../../domain/text.ts"
import { signInsDenied } from "../../../services/telemetry/Metrics.ts"
import type { AttemptLimit, Attempts } from "../Attempts.ts"
import type { Mail } from "../emails/Mail.ts"
import { currentNotes, keyOf, type PasswordCounts, type Requester } from "../Requester.ts"
import { isCommonPassword } from "./commonPasswords.ts"
import type { Bridge } from "./Database.ts"
import { logDenial } from "./logDenial.ts"
import type { PasswordSlots } from "./PasswordSlots.ts"

const minPasswordCharacters = 8
export const maxPasswordCharacters = 128

/** Per client and account (R66). The account itself is never locked, so that strangers cannot lock out its owner. */
const accountLimit: AttemptLimit = { name: "passwords", max: 10, window: Duration.minutes(15) }

/** Per IPv4 address or IPv6 /48, to stop lists of stolen passwords from being tried on many accounts. */
const clientLimit: AttemptLimit = { name: "passwords of client", max: 100, window: Duration.minutes(15) }

export interface Deps {
  readonly bridge: Bridge
  readonly attempts: Attempts
  readonly slots: PasswordSlots
  readonly mail: Mail
}

export type HookContext = Parameters<typeof getSessionFromCtx>[0] & {
  readonly context: { readonly returned?: unknown }
}

export const textOf = (body: object, name: string): string => {
  const value: unknown = Predicate.hasProperty(body, name) ? body[name] : undefined
  return typeof value === "string" ? value : ""
}

const deny = (reason: "account" | "client" | "busy", message: string, seconds: number) =>
  Metric.update(signInsDenied.of(reason), 1).pipe(
    Effect.andThen(logDenial("A password was not compared", reason)),
    Effect.andThen(Effect.fail(new APIError("TOO_MANY_REQUESTS", { message }, { "x-retry-after": String(seconds) })))
  )

const turnOf = ({ address, browser }: Requester): string => browser ?? clientSite(address) ?? address

const inTurn = async <A>({ bridge, slots }: Pick<Deps, "bridge" | "slots">, hash: () => Promise<A>): Promise<A> => {
  const { requester } = currentNotes()
  const message = "Too many people are signing in at this moment. Try again in a few seconds."
  const turn = slots.run(turnOf(requester), Effect.promise(hash))
  return bridge.run(
    Effect.catchTag(turn, "HashesBusy", ({ retryAfterSeconds }) => deny("busy", message, retryAfterSeconds))
  )
}

export const makeHashing = (deps: Pick<Deps, "bridge" | "slots">) => ({
  hash: async (password: string): Promise<string> =>
    currentNotes().hashes.get(password) ?? inTurn(deps, () => hashPassword(password)),
  verify: async (pair: { readonly hash: string; readonly password: string }): Promise<boolean> =>
    currentNotes().isConfirmed || inTurn(deps, () => verifyPassword(pair))
})

const newPasswordFields: Readonly<Record<string, string>> = {
  "/sign-up/email": "password",
  "/change-password": "newPassword",
  "/reset-password": "newPassword"
}

const hasStorableLength = (password: string): boolean =>
  password.length >= minPasswordCharacters && password.length <= maxPasswordCharacters

export const isStorable = (password: string): boolean => hasStorableLength(password) && !isCommonPassword(password)

const rejectCommonPassword = (path: string, body: object): void => {
  const field = newPasswordFields[path]
  if (field === undefined || !isCommonPassword(textOf(body, field))) return
  throw new APIError("BAD_REQUEST", { code: "PASSWORD_TOO_COMMON", message: "This password is too common." })
}

/** The keys under which a request's password attempt is counted. Undefined if no password is compared. */
const countsOf = async (context: HookContext): Promise<PasswordCounts | undefined> => {
  const { requester } = currentNotes()
  const { body, path } = context
  if (path === "/sign-in/email") {
    const account = keyOf(requester, normalizeEmail(textOf(body, "email")))
    return { account, client: requester.browser === undefined ? clientSite(requester.address) : undefined }
  }
  const session = path === "/change-password" ? await getSessionFromCtx(context) : null
  return session === null ? undefined : { account: `session ${session.session.id}`, client: undefined }
}

/** Counts before the comparison, so that simultaneous attempts all count. */
const count = ({ attempts }: Deps, { account, client }: PasswordCounts) =>
  Effect.gen(function* () {
    const seconds = yield* attempts.count(accountLimit, account)
    if (seconds !== undefined) {
      const message =
        `Too many wrong passwords for this account came from here. Try again in ${waitText(seconds)}, or choose a new ` +
        'password: "Forgot your password?" sends a link.'
      return yield* deny("account", message, seconds)
    }
    const clientSeconds = client === undefined ? undefined : yield* attempts.count(clientLimit, client)
    if (clientSeconds === undefined) return
    yield* attempts.uncount(accountLimit, account)
    const message = `Too many wrong passwords came from your network. Try again in ${waitText(clientSeconds)}.`
    return yield* deny("client", message, clientSeconds)
  })

const settle = ({ attempts }: Deps, { account, client }: PasswordCounts, result: "right" | "uncompared") =>
  Effect.gen(function* () {
    yield* result === "right" ? attempts.forget(accountLimit, account) : attempts.uncount(accountLimit, account)
    if (client !== undefined) yield* attempts.uncount(clientLimit, client)
  })

export const forgive = ({ attempts }: Pick<Deps, "attempts">, requester: Requester, email: string) =>
  attempts.forget(accountLimit, keyOf(requester, normalizeEmail(email)))

export const before = async (deps: Deps, context: HookContext) => {
  const { body, path = "" } = context
  if (!Predicate.isObject(body)) return undefined
  rejectCommonPassword(path, body)
  const notes = currentNotes()
  const counts = await countsOf(context)
  if (counts !== undefined) await deps.bridge.run(count(deps, counts))
  notes.counts = counts
  switch (path) {
    case "/change-password":
      // Someone else may know the old password, so their sessions must end.
      return { context: { body: { ...body, revokeOtherSessions: true } } }
    case "/sign-up/email": {
      const password = textOf(body, "password")
      if (hasStorableLength(password)) {
        notes.hashes.set(password, await inTurn(deps, () => hashPassword(password)))
      }
      return undefined
    }
    default:
      return undefined
  }
}

/** 403 means that the password was right but the address is not confirmed yet. */
const rightStatuses: ReadonlySet<number> = new Set([200, 403])

export const after = async (deps: Deps, context: HookContext) => {
  const { counts } = currentNotes()
  if (counts === undefined) return
  const { returned } = context.context
  const status = isAPIError(returned) ? returned.statusCode : 200
  const isWrong = status === 401 || (isAPIError(returned) && returned.body?.code === "INVALID_PASSWORD")
  if (!isWrong) return deps.bridge.run(settle(deps, counts, rightStatuses.has(status) ? "right" : "uncompared"))
  if (context.path === "/sign-in/email") {
    await deps.bridge.run(
      deps.mail.noteWrongPassword(normalizeEmail(textOf(context.body, "email")), currentNotes().requester)
    )
  }
}
