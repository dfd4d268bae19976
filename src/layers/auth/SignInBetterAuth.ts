import { Effect, Layer, Redacted } from "effect"
import { confirmPath } from "../../domain/accounts/OAuth.ts"
import { signUpDeniedCode } from "../../domain/accounts/signUp.ts"
import { Emails } from "../../services/accounts/Emails.ts"
import {
  AddressUnconfirmed,
  type Browser,
  InvalidCredentials,
  InvalidField,
  type PasswordSignIn,
  SignIn,
  type SignInError,
  SignInFailed,
  SignUpDenied
} from "../../services/accounts/SignIn.ts"
import { Library } from "./betterAuth/Library.ts"
import {
  type Deps,
  firstIssueOf,
  type LibraryResponse,
  post,
  redirectOf,
  textOf,
  tooManyAttempts
} from "./betterAuth/LibraryCall.ts"
import { providersOf, type SignInOptions } from "./betterAuth/Options.ts"

/** Our field names by the library's. */
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

/** Body of a sign-in or sign-up, with the app's request if an app is waiting. */
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

const signUp = (deps: Deps) =>
  Effect.fn("SignIn.signUp")(function* (browser: Browser, person: PasswordSignIn) {
    // The library requires a name, which Quarry never shows.
    const name = person.email.split("@", 1).join("")
    const response = yield* post(deps, browser, "/sign-up/email", { ...passwordBody(person), name })
    return response.status < 400 ? redirectOf(response) : yield* Effect.fail(errorOf(response))
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

const resetPassword = (deps: Deps): SignIn["Service"]["resetPassword"] =>
  Effect.fn("SignIn.resetPassword")(function* (browser, { password, token }) {
    const body = { token: Redacted.value(token), newPassword: Redacted.value(password) }
    const response = yield* post(deps, browser, "/reset-password", body)
    if (response.status >= 400) return yield* Effect.fail(errorOf(response))
  })

/** Signs people in from our pages through the library's routes. */
export const layer = (options: SignInOptions): Layer.Layer<SignIn, never, Library | Emails> =>
  Layer.effect(
    SignIn,
    Effect.gen(function* () {
      const deps = { library: yield* Library, origin: new URL(options.baseUrl).origin }
      return SignIn.of({
        providers: providersOf(options),
        signUpMode: options.signUp.mode,
        deliversEmails: (yield* Emails).delivers,
        withPassword: withPassword(deps),
        signUp: signUp(deps),
        atProvider: atProvider(deps),
        requestPasswordReset: requestPasswordReset(deps),
        resetPassword: resetPassword(deps)
      })
    })
  )
