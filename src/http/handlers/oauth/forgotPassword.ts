import { Effect } from "effect"
import { signInPath } from "../../../domain/accounts/OAuth.ts"
import { SignIn } from "../../../services/accounts/SignIn.ts"
import * as pages from "../../html/pages.ts"
import { authorizationRequestIn, canonicalQuery, readAuthorizationRequest } from "./authorizationRequest.ts"
import { currentBrowser, queryText, readForm } from "./browser.ts"
import { errorResponse } from "./errorResponse.ts"
import { pageResponse } from "./responses.ts"

export const show = Effect.gen(function* () {
  const { request } = yield* readAuthorizationRequest(canonicalQuery(yield* queryText))
  return pageResponse(pages.forgotPassword({ request }))
})

/** Identical for every address, so that the page does not reveal which accounts exist. */
const linkSent = pageResponse(
  pages.message(
    "Check your email",
    "If this address has an account, we sent a link to it. The link expires in one hour."
  )
)

const linkLogged = pageResponse(
  pages.message(
    "Ask the operator for the link",
    "This deployment does not send emails. If this address has an account, its operator can find a link in the log; it expires in one hour."
  )
)

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const { request } = yield* authorizationRequestIn(form)
  const signIn = yield* SignIn
  const email = form.get("email") ?? ""
  return yield* signIn
    .requestPasswordReset(yield* currentBrowser, { email, returnPath: `${signInPath}?${request.query}` })
    .pipe(
      Effect.map(() => (signIn.deliversEmails ? linkSent : linkLogged)),
      Effect.catch((error) =>
        Effect.succeed(errorResponse(error, (notice) => pages.forgotPassword({ request, email, notice })))
      )
    )
})
