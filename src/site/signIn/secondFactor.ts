import { Effect } from "effect"
import { limitByAddress } from "../../http/middleware/addressLimit.ts"
import { SignIn } from "../../services/accounts/SignIn.ts"
import { RateLimiter } from "../../services/credits/RateLimiter.ts"
import * as pages from "../html/pages.ts"
import { currentBrowser, queryText, readForm, readNext, secretIn } from "./browser.ts"
import { errorResponse } from "./errorResponse.ts"
import { pageResponse, redirectResponse } from "./responses.ts"

export const show = Effect.gen(function* () {
  yield* limitByAddress(yield* RateLimiter)
  const next = yield* readNext(new URLSearchParams(yield* queryText).get("next"))
  return pageResponse(pages.secondFactor({ next }))
})

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const next = yield* readNext(form.get("next"))
  const code = secretIn(form, "code")
  return yield* (yield* SignIn).withCode(yield* currentBrowser, { code, returnPath: next }).pipe(
    Effect.map(redirectResponse),
    Effect.catch((error) => Effect.succeed(errorResponse(error, (notice) => pages.secondFactor({ next, notice }))))
  )
})
