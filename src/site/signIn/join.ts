import { Effect, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { confirmPath } from "../../domain/accounts/OAuth.ts"
import { CurrentRequester } from "../../domain/requests/CurrentRequester.ts"
import { limitByAddress } from "../../http/middleware/addressLimit.ts"
import { clientIp } from "../../http/middleware/clientAddress.ts"
import { type Joined, Members } from "../../services/accounts/Members.ts"
import { RateLimiter } from "../../services/credits/RateLimiter.ts"
import * as pages from "../html/pages.ts"
import { home, queryText, readForm, secretIn } from "./browser.ts"
import { currentSession } from "./currentSession.ts"
import { ErrorPage, pageResponse, redirectResponse } from "./responses.ts"

const invitationExpired = ErrorPage.of(
  400,
  "This invitation has expired",
  "An invitation works once, for seven days. Ask an owner of the account to send it again, or sign in if you have already joined.",
  [{ text: "Sign in", path: home }]
)

const signUpClosed = ErrorPage.of(
  403,
  "Sign-up is closed",
  "This server does not accept new people with this address. Ask its operator to let you in."
)

/** Changes nothing, because mail gateways open links. */
export const show = Effect.gen(function* () {
  yield* limitByAddress(yield* RateLimiter)
  const token = secretIn(new URLSearchParams(yield* queryText), "token")
  const invitation = (yield* (yield* Members).invitation(token)) ?? (yield* invitationExpired)
  return pageResponse(pages.join({ ...invitation, token: Redacted.value(token) }))
})

const responseTo = (joined: Joined) => {
  const to = (location: string) => redirectResponse({ location, cookies: [] })
  switch (joined._tag) {
    case "entered":
      return Effect.succeed(to(home))
    case "newPassword":
      return Effect.succeed(to(`${confirmPath}?${new URLSearchParams({ token: Redacted.value(joined.token) })}`))
    case "signIn":
      return Effect.succeed(
        pageResponse(
          pages.message("You have joined the account", "Sign in with the address that received the invitation.", [
            { text: "Sign in", path: home }
          ])
        )
      )
    case "signUpClosed":
      return Effect.fail(signUpClosed)
  }
}

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const session = yield* Effect.catch(currentSession, () => Effect.undefined)
  const own = session && { id: session.sessionId, personId: session.personId }
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const requester = { actor: own?.personId, address: yield* clientIp, browser: headers["user-agent"] }
  const joined = yield* (yield* Members)
    .join(secretIn(form, "token"), own)
    .pipe(Effect.provideService(CurrentRequester, requester))
  return yield* responseTo(joined ?? (yield* invitationExpired))
})
