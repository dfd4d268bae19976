import { Effect, type Redacted } from "effect"
import { limitByAddress } from "../../http/middleware/addressLimit.ts"
import { SignIn } from "../../services/accounts/SignIn.ts"
import { RateLimiter } from "../../services/credits/RateLimiter.ts"
import * as pages from "../html/pages.ts"
import { currentBrowser, queryText, readForm, readNext, secretIn } from "./browser.ts"
import { errorResponse } from "./errorResponse.ts"
import { linkExpired, pageResponse, redirectResponse } from "./responses.ts"

/** Longer than any valid token. The page repeats the token, so its length is limited. */
const maxTokenCharacters = 256

const shownToken = (fields: URLSearchParams): string => (fields.get("token") ?? "").slice(0, maxTokenCharacters)

/** Fails if the link was used or has expired, before the person chooses a password. */
const addressOfLink = Effect.fnUntraced(function* (token: Redacted.Redacted) {
  return (yield* (yield* SignIn).addressOfLink(token)) ?? (yield* linkExpired)
})

/** Changes nothing on GET, because mail gateways open links. */
export const show = Effect.gen(function* () {
  yield* limitByAddress(yield* RateLimiter)
  const query = new URLSearchParams(yield* queryText)
  const next = yield* readNext(query.get("callbackURL"))
  const email = yield* addressOfLink(secretIn(query, "token"))
  return pageResponse(pages.choosePassword({ token: shownToken(query), next, email }))
})

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const next = yield* readNext(form.get("next"))
  const signIn = yield* SignIn
  const token = secretIn(form, "token")
  const email = yield* addressOfLink(token)
  return yield* signIn
    .resetPassword(yield* currentBrowser, { token, password: secretIn(form, "password"), returnPath: next })
    .pipe(
      Effect.map(redirectResponse),
      Effect.catch((error) =>
        error._tag === "InvalidField" && error.field === "token"
          ? Effect.fail(linkExpired)
          : Effect.succeed(
              errorResponse(error, (notice) => pages.choosePassword({ token: shownToken(form), next, email, notice }))
            )
      )
    )
})
