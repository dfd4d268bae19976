import { Effect } from "effect"
import { signUpDeniedCode, signUpLimitedCode } from "../../../domain/signUp.ts"
import { queryText } from "./browser.ts"
import { ErrorPage, unknownApp } from "./responses.ts"

/** Pages for the error codes with which the library, or a provider, redirects a browser to our error page. */
const errorPages: Readonly<Record<string, ErrorPage>> = {
  invalid_client: unknownApp,
  invalid_redirect: ErrorPage.of(
    400,
    "The app asked for an answer elsewhere",
    "It named an address that it did not register, so nothing was sent there."
  ),
  invalid_request: ErrorPage.of(
    400,
    "The app asked in a way that is not safe",
    "It asks again when you connect it again."
  ),
  invalid_target: ErrorPage.of(
    400,
    "The app asked for something else",
    "Connect it with the address of this deployment's MCP endpoint."
  ),
  [signUpDeniedCode]: ErrorPage.of(
    403,
    "This address may not sign up here",
    "Sign-up is not open to it. Ask the operator of this server for an account."
  ),
  [signUpLimitedCode]: ErrorPage.of(
    429,
    "Too many sign-ups came from your network today",
    "Try again tomorrow, or ask the operator of this server for an account."
  ),
  access_denied: ErrorPage.of(
    400,
    "You were not signed in",
    "The sign-in was cancelled. Go back to the app to try again."
  )
}

const unknownError = ErrorPage.of(400, "That did not work", "Go back to the app and connect it again.")

export const show = Effect.gen(function* () {
  const code = new URLSearchParams(yield* queryText).get("error") ?? ""
  return ((Object.hasOwn(errorPages, code) ? errorPages[code] : undefined) ?? unknownError).response
})
