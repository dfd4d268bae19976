import { Effect, Redacted } from "effect"
import { SignIn } from "../../services/accounts/SignIn.ts"
import { Ids } from "../../services/Ids.ts"
import * as pages from "../html/pages.ts"
import { currentBrowser, secretIn } from "./browser.ts"
import { type Folder, requestedDestination, submittedDestination } from "./destination.ts"
import { errorResponse } from "./errorResponse.ts"
import { pageResponse, redirectResponse } from "./responses.ts"
import { formTargetsOf } from "./signIn.ts"

export const show = Effect.fnUntraced(function* (folder: Folder) {
  const destination = yield* requestedDestination(folder)
  const signIn = yield* SignIn
  return signIn.signUpMode === "closed"
    ? signUpClosed(destination)
    : pageResponse(pages.signUp({ ...signIn, destination }), { formTargets: formTargetsOf(signIn.providers) })
})

const signUpClosed = (destination: pages.Destination) =>
  pageResponse(
    pages.message("Sign-up is closed", "Ask the operator of this server for an account.", [
      { text: "Sign in", path: pages.linkTo("sign-in", destination) }
    ])
  )

const unguessableBytes = 24

/** If emails are delivered, the password is random until the person chooses one at the link in the email. */
const passwordOf = Effect.fnUntraced(function* (form: URLSearchParams, deliversEmails: boolean) {
  if (!deliversEmails || form.has("password")) return secretIn(form, "password")
  const bytes = yield* (yield* Ids).entropy(unguessableBytes)
  return Redacted.make(Buffer.from(bytes).toString("hex"))
})

export const submit = Effect.fnUntraced(function* (folder: Folder) {
  const { destination, form } = yield* submittedDestination(folder)
  const signIn = yield* SignIn
  const email = form.get("email") ?? ""
  // Identical for an address that already has an account, so that it does not reveal which addresses do.
  const confirmationSent = () =>
    pageResponse(pages.linkSent({ page: "sign-up", destination, email, isByEmail: true, isAgain: form.has("again") }))
  return yield* signIn
    .signUp(yield* currentBrowser, {
      email,
      password: yield* passwordOf(form, signIn.deliversEmails),
      authorizationRequest: destination.app?.query,
      returnPath: destination.path
    })
    .pipe(
      Effect.map((redirect) => (redirect === undefined ? confirmationSent() : redirectResponse(redirect))),
      Effect.catch((error) =>
        Effect.succeed(
          errorResponse(
            error,
            (notice) => pages.signUp({ ...signIn, destination, email, notice }),
            formTargetsOf(signIn.providers)
          )
        )
      )
    )
})
