import { Effect, Redacted } from "effect"
import { limitByAddress } from "../../http/middleware/addressLimit.ts"
import { Sessions } from "../../services/accounts/Sessions.ts"
import { RateLimiter } from "../../services/credits/RateLimiter.ts"
import * as pages from "../html/pages.ts"
import { queryText, readForm, secretIn } from "./browser.ts"
import { linkExpired, pageResponse } from "./responses.ts"

const maxTokenCharacters = 256

/** Changes nothing, because mail gateways open links. */
export const show = Effect.gen(function* () {
  yield* limitByAddress(yield* RateLimiter)
  const token = secretIn(new URLSearchParams(yield* queryText), "token")
  return pageResponse(pages.endSession(Redacted.value(token).slice(0, maxTokenCharacters)))
})

const ended = pageResponse(
  pages.message("The session has ended", "If the sign-in was not yours, choose a new password now.", [
    { text: "Choose a new password", path: "/dashboard/forgot-password" }
  ])
)

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const isEnded = yield* (yield* Sessions).endByLink(secretIn(form, "token"))
  return isEnded ? ended : yield* linkExpired
})
