import { Effect } from "effect"
import { ownPath } from "../../../domain/requests/ownPath.ts"
import { SignIn } from "../../../services/accounts/SignIn.ts"
import { Deployment } from "../../../services/operations/Deployment.ts"
import * as pages from "../../html/pages.ts"
import { currentBrowser, queryText, readForm, secretIn } from "./browser.ts"
import { errorResponse } from "./errorResponse.ts"
import { linkExpired, pageResponse, redirectResponse } from "./responses.ts"

/** The page opened by links in emails. It confirms an address and sets a password. */

const defaultNext = "/dashboard"

/** Longer than any valid token. The page repeats the token, so its length is limited. */
const maxTokenCharacters = 256

const shownToken = (fields: URLSearchParams): string => (fields.get("token") ?? "").slice(0, maxTokenCharacters)

/** Returns a path on this deployment. Links and forms could otherwise redirect to another site. */
const readNext = Effect.fnUntraced(function* (address: string | null) {
  const { origin } = yield* Deployment
  return ownPath(address || defaultNext, origin) ?? defaultNext
})

/** Changes nothing on GET, because mail gateways open links. */
export const show = Effect.gen(function* () {
  const query = new URLSearchParams(yield* queryText)
  const next = yield* readNext(query.get("callbackURL"))
  return pageResponse(pages.choosePassword({ token: shownToken(query), next }))
})

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const next = yield* readNext(form.get("next"))
  const signIn = yield* SignIn
  return yield* signIn
    .resetPassword(yield* currentBrowser, { token: secretIn(form, "token"), password: secretIn(form, "password") })
    .pipe(
      Effect.map(() => redirectResponse({ location: next, cookies: [] })),
      Effect.catch((error) =>
        error._tag === "InvalidField" && error.field === "token"
          ? Effect.fail(linkExpired)
          : Effect.succeed(
              errorResponse(error, (notice) => pages.choosePassword({ token: shownToken(form), next, notice }))
            )
      )
    )
})
