import { Effect } from "effect"
import { forgotPasswordPath, signInPath } from "../../domain/accounts/OAuth.ts"
import { SignIn } from "../../services/accounts/SignIn.ts"
import * as pages from "../html/pages.ts"
import { authorizationRequestIn, canonicalQuery, readAuthorizationRequest } from "./authorizationRequest.ts"
import { currentBrowser, queryText, readForm } from "./browser.ts"
import { errorResponse } from "./errorResponse.ts"
import { pageResponse, redirectResponse } from "./responses.ts"

export const show = Effect.gen(function* () {
  const { request } = yield* readAuthorizationRequest(canonicalQuery(yield* queryText))
  return (yield* SignIn).hasPasswords
    ? pageResponse(pages.forgotPassword({ request }))
    : redirectResponse({ location: `${signInPath}?${request.query}`, cookies: [] })
})

/** Identical for every address, so that the page does not reveal which accounts exist. */
const linkSent = (email: string, query: string) =>
  pageResponse(
    pages.message(
      "Check your email",
      `If ${email} has an account, we sent a link to it. The link expires in one hour.`,
      actionsOf(query)
    )
  )

const linkLogged = (email: string, query: string) =>
  pageResponse(
    pages.message(
      "Ask the operator for the link",
      `This deployment does not send emails. If ${email} has an account, its operator can find a link in the log; it expires in one hour.`,
      actionsOf(query)
    )
  )

const actionsOf = (query: string): ReadonlyArray<pages.Action> => [
  { text: "Back to sign-in", path: `${signInPath}?${query}` },
  { text: "Send another link", path: `${forgotPasswordPath}?${query}` }
]

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const { request } = yield* authorizationRequestIn(form)
  const signIn = yield* SignIn
  const email = form.get("email") ?? ""
  return yield* signIn
    .requestPasswordReset(yield* currentBrowser, { email, returnPath: `${signInPath}?${request.query}` })
    .pipe(
      Effect.map(() => (signIn.deliversEmails ? linkSent : linkLogged)(email, request.query)),
      Effect.catch((error) =>
        Effect.succeed(errorResponse(error, (notice) => pages.forgotPassword({ request, email, notice })))
      )
    )
})
