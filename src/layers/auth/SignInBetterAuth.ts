import { Effect, Layer, Predicate, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { appQueryOf, confirmPath } from "../../domain/accounts/OAuth.ts"
import { signUpDeniedCode } from "../../domain/accounts/signUp.ts"
import { partBefore } from "../../domain/text.ts"
import { Emails } from "../../services/accounts/Emails.ts"
import {
  AddressUnconfirmed,
  type Browser,
  InvalidCredentials,
  InvalidField,
  type PasswordSignIn,
  type Redirect,
  SignIn,
  type SignInError,
  SignInFailed,
  SignUpDenied
} from "../../services/accounts/SignIn.ts"
import type { Keyring } from "../../services/operations/Keyrings.ts"
import { rowOf } from "../sql/Rows.ts"
import { digestsOf } from "./betterAuth/Digest.ts"
import { Library } from "./betterAuth/Library.ts"
import {
  firstIssueOf,
  type Deps as LibraryDeps,
  type LibraryResponse,
  post,
  redirectOf,
  textOf,
  tooManyAttempts
} from "./betterAuth/LibraryCall.ts"
import { providersOf, type SignInOptions } from "./betterAuth/Options.ts"

interface Deps extends LibraryDeps {
  readonly sql: SqlClient.SqlClient
  readonly secrets: Keyring
}

const fieldNames: Readonly<Record<string, InvalidField["field"]>> = {
  email: "email",
  password: "password",
  newPassword: "password",
  token: "token"
}

const errorOf = (response: LibraryResponse): SignInError => {
  const { body, status } = response
  if (status === 429) return tooManyAttempts(response)
  if (status === 401) return new InvalidCredentials()
  if (textOf(body, "code") === signUpDeniedCode) return new SignUpDenied({ message: textOf(body, "message") ?? "" })
  if (textOf(body, "code") === "EMAIL_NOT_VERIFIED") return new AddressUnconfirmed()
  const issue = firstIssueOf(body)
  const field = issue !== undefined && Object.hasOwn(fieldNames, issue.field) ? fieldNames[issue.field] : undefined
  if (issue !== undefined && field !== undefined) return new InvalidField({ field, message: issue.message })
  return new SignInFailed({ message: textOf(body, "message") ?? "The sign-in failed." })
}

const passwordBody = ({ authorizationRequest, email, password, returnPath }: PasswordSignIn) => ({
  email,
  password: Redacted.value(password),
  callbackURL: returnPath,
  oauth_query: authorizationRequest
})

const withPassword = (deps: Deps) =>
  Effect.fn("SignIn.withPassword")(function* (browser: Browser, signIn: PasswordSignIn) {
    const response = yield* post(deps, browser, "/sign-in/email", passwordBody(signIn))
    return redirectOf(response) ?? (yield* Effect.fail(errorOf(response)))
  })

/** A code that is wrong or used, or a recovery code that another request used at the same time. */
const isWrongCode = ({ body, status }: LibraryResponse): boolean =>
  status === 409 || ["INVALID_CODE", "INVALID_BACKUP_CODE"].includes(textOf(body, "code") ?? "")

const withCode = (deps: Deps): SignIn["Service"]["withCode"] =>
  Effect.fn("SignIn.withCode")(function* (browser, { code, returnPath }) {
    const text = Redacted.value(code)
    const path = /^[\d\s]+$/.test(text) ? "/two-factor/verify-totp" : "/two-factor/verify-backup-code"
    const response = yield* post(deps, browser, path, { code: text, oauth_query: appQueryOf(returnPath) })
    if (response.status < 400) return redirectOf(response) ?? { location: returnPath, cookies: response.cookies }
    if (response.status === 429) return yield* Effect.fail(tooManyAttempts(response))
    return yield* Effect.fail(
      isWrongCode(response)
        ? new InvalidField({ field: "code", message: "is wrong or was used before" })
        : new SignInFailed({ message: "This sign-in has ended. Go back and sign in again." })
    )
  })

const signUp = (deps: Deps) =>
  Effect.fn("SignIn.signUp")(function* (browser: Browser, person: PasswordSignIn) {
    // The library requires a name, which Quarry never shows.
    const name = partBefore(person.email, "@")
    const response = yield* post(deps, browser, "/sign-up/email", { ...passwordBody(person), name })
    if (response.status >= 400) return yield* Effect.fail(errorOf(response))
    // The library names a location only if an app waits.
    const isSignedIn = Predicate.hasProperty(response.body, "signed_in") && response.body.signed_in === true
    return redirectOf(response) ?? (isSignedIn ? { location: person.returnPath, cookies: response.cookies } : undefined)
  })

const atProvider = (deps: Deps): SignIn["Service"]["atProvider"] =>
  Effect.fn("SignIn.atProvider")(function* (browser, provider, { failurePath, returnPath }) {
    // Without `oauth_query`, which the library would store in its cookie a second time.
    const body = { provider, callbackURL: returnPath, errorCallbackURL: failurePath }
    const response = yield* post(deps, browser, "/sign-in/social", body)
    return redirectOf(response) ?? (yield* Effect.fail(errorOf(response)))
  })

const requestPasswordReset = (deps: Deps): SignIn["Service"]["requestPasswordReset"] =>
  Effect.fn("SignIn.requestPasswordReset")(function* (browser, { email, returnPath }) {
    const redirectTo = `${confirmPath}?${new URLSearchParams({ callbackURL: returnPath })}`
    const response = yield* post(deps, browser, "/request-password-reset", { email, redirectTo })
    if (response.status >= 400) return yield* Effect.fail(errorOf(response))
  })

const emailRow = rowOf(Schema.Struct({ email: Schema.String }))

/** Looks the token up without using it, because mail gateways open links. */
const addressOfLink = ({ secrets, sql }: Deps): SignIn["Service"]["addressOfLink"] =>
  Effect.fn("SignIn.addressOfLink")(function* (token) {
    const digests = digestsOf(secrets, "verification", `reset-password:${Redacted.value(token)}`)
    const row = yield* emailRow(sql`
      select u.email from auth_verifications v join auth_users u on u.id = v.value
      where v.digest = any (${digests}::text[]) and v.expires_at > clock_timestamp()`)
    return row?.email
  }, Effect.orDie)

const resetPassword = (deps: Deps): SignIn["Service"]["resetPassword"] =>
  Effect.fn("SignIn.resetPassword")(function* (browser, { password, returnPath, token }) {
    const email = yield* addressOfLink(deps)(token)
    const body = { token: Redacted.value(token), newPassword: Redacted.value(password) }
    const response = yield* post(deps, browser, "/reset-password", body)
    if (response.status >= 400) return yield* Effect.fail(errorOf(response))
    const redirect: Redirect = { location: returnPath, cookies: [] }
    if (email === undefined) return redirect
    const app = appQueryOf(returnPath)
    const credentials = { email, password: Redacted.value(password), callbackURL: returnPath }
    const enter = (more: object) => post(deps, browser, "/sign-in/email", { ...credentials, ...more })
    const toApp = app === undefined ? undefined : redirectOf(yield* enter({ oauth_query: app }))
    // The app's request may have expired. Where signing in is limited, the page behind the link asks for the password.
    return toApp ?? redirectOf(yield* enter({})) ?? redirect
  })

export const layer = (options: SignInOptions): Layer.Layer<SignIn, never, Library | Emails | SqlClient.SqlClient> =>
  Layer.effect(
    SignIn,
    Effect.gen(function* () {
      const deps: Deps = {
        library: yield* Library,
        origin: new URL(options.baseUrl).origin,
        sql: yield* SqlClient.SqlClient,
        secrets: options.secrets
      }
      return SignIn.of({
        providers: providersOf(options),
        signUpMode: options.signUp.mode,
        hasPasswords: options.oidc?.isOnly !== true,
        deliversEmails: (yield* Emails).delivers,
        withPassword: withPassword(deps),
        withCode: withCode(deps),
        signUp: signUp(deps),
        atProvider: atProvider(deps),
        requestPasswordReset: requestPasswordReset(deps),
        addressOfLink: addressOfLink(deps),
        resetPassword: resetPassword(deps)
      })
    })
  )
