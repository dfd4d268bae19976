import { Effect } from "effect"
import { signUpDeniedCode, signUpLimitedCode } from "../../domain/accounts/signUp.ts"
import { singleSignOnCode } from "../../domain/accounts/singleSignOn.ts"
import { queryText } from "./browser.ts"
import { ErrorPage, unknownApp } from "./responses.ts"

type Texts = readonly [heading: string, text: string]

const notLinked: Texts = [
  "This email address is already in use",
  "Its account does not belong to this sign-in. Sign in the way you did before, or ask the operator of this server."
]

/** Reasons for which a sign-in at a provider opens no session. */
const signInFailures: Readonly<Record<string, Texts>> = {
  [signUpDeniedCode]: [
    "This email address cannot sign up here",
    "Sign-up is restricted on this server. Ask its operator for an account."
  ],
  [signUpLimitedCode]: [
    "Too many sign-ups from your network today",
    "Try again tomorrow, or ask the operator of this server for an account."
  ],
  [singleSignOnCode]: [
    "Use your organization's sign-in",
    "People with this email address sign in at the identity provider. Use its button on the sign-in page."
  ],
  email_not_verified: ["This email address is not verified", "Verify it where you signed in, then try again."],
  account_not_linked: notLinked,
  unable_to_link_account: notLinked
}

const signInFailureOf = (code: string): Texts | undefined =>
  Object.hasOwn(signInFailures, code) ? signInFailures[code] : undefined

/** For the sign-in page of the dashboard, to which a provider leads back. */
export const failureNotice = (code: string, provider: string, hasPasswords: boolean): string =>
  signInFailureOf(code)?.join(". ") ??
  `Signing in with ${provider} failed. Try again${hasPasswords ? " or use a password" : ""}.`

const errorPages: Readonly<Record<string, ErrorPage>> = {
  invalid_client: unknownApp,
  invalid_document: ErrorPage.of(
    400,
    "Quarry cannot verify this app",
    "Its description could not be fetched from its own address, or is not valid. Contact the app's developer."
  ),
  invalid_redirect: ErrorPage.of(
    400,
    "The app sent an unregistered address",
    "The redirect address is not registered for this app, so nothing was sent there. Contact the app's developer."
  ),
  invalid_request: ErrorPage.of(400, "The app's request is not secure", "Go back to the app and connect it again."),
  invalid_target: ErrorPage.of(
    400,
    "The app requested a different server",
    "Connect it with the address of this deployment's MCP endpoint."
  ),
  access_denied: ErrorPage.of(400, "Sign-in canceled", "You are not signed in. Go back to the app to try again.")
}

const unknownError = ErrorPage.of(400, "Something went wrong", "Go back to the app and connect it again.")

export const show = Effect.gen(function* () {
  const code = new URLSearchParams(yield* queryText).get("error") ?? ""
  const texts = signInFailureOf(code)
  if (texts !== undefined) return yield* ErrorPage.of(code === signUpLimitedCode ? 429 : 403, ...texts)
  return ((Object.hasOwn(errorPages, code) ? errorPages[code] : undefined) ?? unknownError).response
})
