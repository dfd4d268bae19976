import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { EventBooks } from "../services/webhooks/EventBooks.ts"
import { EventEmails, unsubscribePath } from "../services/webhooks/EventEmails.ts"
import * as pages from "./html/pages.ts"
import { queryText } from "./signIn/browser.ts"
import { pageResponse } from "./signIn/responses.ts"

const invalid = pageResponse(
  pages.message("This link is not valid", "Sign in and choose your emails on the Webhooks page."),
  { status: 400 }
)

const stopped = pageResponse(
  pages.message(
    "Emails turned off",
    "This account no longer gets emails about events. You can turn them on again on the Webhooks page."
  )
)

/** One-click unsubscribe without a session (RFC 8058). GET changes nothing: mail gateways open links. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const emails = yield* EventEmails
    const books = yield* EventBooks
    const account = Effect.map(queryText, (text) => {
      const token = new URLSearchParams(text).get("token") ?? ""
      return { token, accountId: emails.accountOf(token) }
    })
    const show = Effect.map(account, ({ accountId, token }) =>
      accountId === undefined ? invalid : pageResponse(pages.unsubscribe(`${unsubscribePath}?token=${token}`))
    )
    const submit = Effect.flatMap(account, ({ accountId }) =>
      accountId === undefined
        ? Effect.succeed(invalid)
        : Effect.as(books.changeSettings(accountId, { emailTypes: [] }), stopped)
    )
    return Layer.merge(HttpRouter.add("GET", unsubscribePath, show), HttpRouter.add("POST", unsubscribePath, submit))
  })
)
