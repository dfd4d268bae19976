import { Effect } from "effect"
import { signInPath } from "../../../domain/OAuth.ts"
import { SignIn } from "../../../services/SignIn.ts"
import * as pages from "../../pages/pages.ts"
import { authorizationRequestIn, canonicalQuery, readAuthorizationRequest } from "./authorizationRequest.ts"
import { currentBrowser, queryText, readForm } from "./browser.ts"
import { errorResponse } from "./errorResponse.ts"
import { pageResponse } from "./responses.ts"

export const show = Effect.gen(function* () {
  const { request } = yield* readAuthorizationRequest(canonicalQuery(yield* queryText))
  return pageResponse(pages.forgotPassword({ request }))
})

/** The same for every address, so that nobody learns which ones are known. */
const linkSent = pageResponse(
  pages.message("Read your mail", "If Quarry knows this address, it has sent you a link. It is good for an hour.")
)

const linkLogged = pageResponse(
  pages.message(
    "Ask the operator for the link",
    "This deployment sends no emails. If it knows this address, its operator finds a link in the log, good for an hour."
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
