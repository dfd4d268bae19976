import { Effect } from "effect"
import { SignIn } from "../../services/accounts/SignIn.ts"
import * as pages from "../html/pages.ts"
import { currentBrowser } from "./browser.ts"
import { type Folder, requestedDestination, submittedDestination } from "./destination.ts"
import { errorResponse } from "./errorResponse.ts"
import { pageResponse, redirectResponse } from "./responses.ts"

export const show = Effect.fnUntraced(function* (folder: Folder) {
  const destination = yield* requestedDestination(folder)
  return (yield* SignIn).hasPasswords
    ? pageResponse(pages.forgotPassword({ destination }))
    : redirectResponse({ location: pages.linkTo("sign-in", destination), cookies: [] })
})

export const submit = Effect.fnUntraced(function* (folder: Folder) {
  const { destination, form } = yield* submittedDestination(folder)
  const { deliversEmails: isByEmail, requestPasswordReset } = yield* SignIn
  const email = form.get("email") ?? ""
  // Identical for every address, so that the page does not reveal which accounts exist.
  const linkSent = () =>
    pageResponse(pages.linkSent({ page: "forgot-password", destination, email, isByEmail, isAgain: form.has("again") }))
  return yield* requestPasswordReset(yield* currentBrowser, { email, returnPath: destination.path }).pipe(
    Effect.map(linkSent),
    Effect.catch((error) =>
      Effect.succeed(errorResponse(error, (notice) => pages.forgotPassword({ destination, email, notice })))
    )
  )
})
