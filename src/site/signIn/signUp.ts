import { Effect, Redacted } from "effect"
import { signInPath, signUpPath } from "../../domain/accounts/OAuth.ts"
import { SignIn } from "../../services/accounts/SignIn.ts"
import { Ids } from "../../services/Ids.ts"
import * as pages from "../html/pages.ts"
import { authorizationRequestIn, canonicalQuery, readAuthorizationRequest } from "./authorizationRequest.ts"
import { currentBrowser, queryText, readForm, secretIn } from "./browser.ts"
import { errorResponse } from "./errorResponse.ts"
import { pageResponse, redirectResponse } from "./responses.ts"
import { formTargetsOf } from "./signIn.ts"

export const show = Effect.gen(function* () {
  const { request } = yield* readAuthorizationRequest(canonicalQuery(yield* queryText))
  const signIn = yield* SignIn
  return signIn.signUpMode === "closed"
    ? signUpClosed
    : pageResponse(pages.signUp({ ...signIn, request }), { formTargets: formTargetsOf(signIn.providers) })
})

const signUpClosed = pageResponse(
  pages.message(
    "Sign-up is closed",
    "Ask the operator of this server for an account. If you have one, go back and sign in."
  )
)

const confirmationSent = (email: string, query: string) =>
  pageResponse(
    pages.message(
      "Check your email",
      `We sent a link to ${email}. Open it to confirm your address and choose a password. The link expires in one hour.`,
      [
        { text: "Back to sign-in", path: `${signInPath}?${query}` },
        { text: "Send another link", path: `${signUpPath}?${query}` }
      ]
    )
  )

const unguessableBytes = 24

/** If emails are delivered, the password is random until the person chooses one at the link in the email. */
const passwordOf = Effect.fnUntraced(function* (form: URLSearchParams, deliversEmails: boolean) {
  if (!deliversEmails || form.has("password")) return secretIn(form, "password")
  const bytes = yield* (yield* Ids).entropy(unguessableBytes)
  return Redacted.make(Buffer.from(bytes).toString("hex"))
})

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const { request } = yield* authorizationRequestIn(form)
  const signIn = yield* SignIn
  const email = form.get("email") ?? ""
  return yield* signIn
    .signUp(yield* currentBrowser, {
      email,
      password: yield* passwordOf(form, signIn.deliversEmails),
      authorizationRequest: request.query,
      returnPath: `${signInPath}?${request.query}`
    })
    .pipe(
      Effect.map((redirect) =>
        redirect === undefined ? confirmationSent(email, request.query) : redirectResponse(redirect)
      ),
      Effect.catch((error) =>
        Effect.succeed(
          errorResponse(
            error,
            (notice) => pages.signUp({ ...signIn, request, email, notice }),
            formTargetsOf(signIn.providers)
          )
        )
      )
    )
})
