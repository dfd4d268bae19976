import { Effect } from "effect"
import { signInPath } from "../../../domain/OAuth.ts"
import { SignIn } from "../../../services/SignIn.ts"
import * as pages from "../../pages/pages.ts"
import { authorizationRequestIn, canonicalQuery, readAuthorizationRequest } from "./authorizationRequest.ts"
import { currentBrowser, queryText, readForm, secretIn } from "./browser.ts"
import { errorResponse } from "./errorResponse.ts"
import { pageResponse, redirectResponse } from "./responses.ts"

export const show = Effect.gen(function* () {
  const { request } = yield* readAuthorizationRequest(canonicalQuery(yield* queryText))
  return pageResponse(pages.signUp({ request }))
})

const confirmationSent = pageResponse(
  pages.message("Read your mail", "We have sent you a link. It confirms your address, and brings you back to sign in.")
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
        Effect.succeed(errorResponse(error, (notice) => pages.signUp({ request, email, notice })))
      )
    )
})
