import { Effect } from "effect"
import { signInPath } from "../../../domain/accounts/OAuth.ts"
import { SignIn } from "../../../services/accounts/SignIn.ts"
import * as pages from "../../html/pages.ts"
import { authorizationRequestIn, canonicalQuery, readAuthorizationRequest } from "./authorizationRequest.ts"
import { currentBrowser, queryText, readForm, secretIn } from "./browser.ts"
import { errorResponse } from "./errorResponse.ts"
import { pageResponse, redirectResponse } from "./responses.ts"

export const show = Effect.gen(function* () {
  const { request } = yield* readAuthorizationRequest(canonicalQuery(yield* queryText))
  const { signUpMode } = yield* SignIn
  return signUpMode === "closed" ? signUpClosed : pageResponse(pages.signUp({ request, signUpMode }))
})

const signUpClosed = pageResponse(
  pages.message(
    "Sign-up is closed",
    "Ask the operator of this server for an account. If you have one, go back and sign in."
  )
)

const confirmationSent = pageResponse(
  pages.message("Check your email", "We sent you a link. Open it to confirm your address, then sign in.")
)

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const { request } = yield* authorizationRequestIn(form)
  const signIn = yield* SignIn
  const email = form.get("email") ?? ""
  return yield* signIn
    .signUp(yield* currentBrowser, {
      email,
      password: secretIn(form, "password"),
      authorizationRequest: request.query,
      returnPath: `${signInPath}?${request.query}`
    })
    .pipe(
      Effect.map((redirect) => (redirect === undefined ? confirmationSent : redirectResponse(redirect))),
      Effect.catch((error) =>
        Effect.succeed(
          errorResponse(error, (notice) => pages.signUp({ request, signUpMode: signIn.signUpMode, email, notice }))
        )
      )
    )
})
