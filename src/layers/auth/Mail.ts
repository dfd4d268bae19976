import { Duration, Effect, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { confirmPath } from "../../domain/OAuth.ts"
import { Emails } from "../../services/Emails.ts"
import type { AttemptLimit, Attempts } from "./Attempts.ts"
import { storeResetToken, tokenCharacters } from "./ResetToken.ts"

/** Emails of any kind to one address, so that nobody fills a mailbox from here. */
const emailLimit: AttemptLimit = { name: "emails", max: 5, window: Duration.hours(1) }

/** The `callbackURL` of a request. The library writes `/` when the request has none. */
const callbackOf = (link: URL): string | undefined => {
  const path = link.searchParams.get("callbackURL") ?? ""
  return path === "" || path === "/" ? undefined : path
}

interface Person {
  readonly id: string
  readonly email: string
}

interface Link {
  readonly user: Person
  /** The library's own link, which is not sent: its path may hold a token, and logs hold paths. */
  readonly url: string
}

/** Sends in the background, because the time that a mail server takes would show whether the address is known. */
const makeSend = Effect.fnUntraced(function* (attempts: Attempts) {
  const emails = yield* Emails
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const scope = yield* Effect.scope

  return (to: string, subject: string, paragraphs: ReadonlyArray<string>): void => {
    const send = Effect.gen(function* () {
      if ((yield* attempts.count(emailLimit, to)) === undefined) {
        return yield* emails.send({ to, subject, text: paragraphs.join("\n\n") })
      }
      yield* Effect.logWarning(`An email was not sent, its address had ${emailLimit.max} in an hour: ${subject}`)
    }).pipe(Effect.catchCause((cause) => Effect.logError("An email was not sent", cause)))
    runFork(Effect.forkIn(send, scope))
  }
})

/** The emails of sign-in. Their links open pages that change nothing before a form is sent: mail gateways open links. */
export const makeMail = Effect.fnUntraced(function* (
  { baseUrl, secret }: { readonly baseUrl: string; readonly secret: Redacted.Redacted },
  attempts: Attempts,
  makeToken: (characters: number) => string
) {
  const sql = yield* SqlClient.SqlClient
  const send = yield* makeSend(attempts)

  /** Leads to the page of the request's `redirectTo`, or to our own. */
  const sendReset = ({ token, url, user }: Link & { readonly token: string }) => {
    const page = new URL(callbackOf(new URL(url)) ?? confirmPath, baseUrl)
    page.searchParams.set("token", token)
    send(user.email, "Choose a new password for Quarry", [
      "Somebody, probably you, asked to choose a new password. This link does it, once and within an hour:",
      page.href,
      "If it was not you, do nothing: the password stays as it is."
    ])
  }

  /**
   * Leads to our page, where the reader of the email chooses the password. Somebody else may have signed up with the
   * address, and must not get in with the password of that sign-up.
   */
  const sendConfirmation = Effect.fnUntraced(function* ({ url, user }: Link) {
    const token = makeToken(tokenCharacters)
    yield* storeResetToken(sql, secret, token, user.id)
    const page = new URL(confirmPath, baseUrl)
    page.searchParams.set("token", token)
    const callback = callbackOf(new URL(url, baseUrl))
    if (callback !== undefined) page.searchParams.set("callbackURL", callback)
    send(user.email, "Confirm your address for Quarry", [
      "Somebody signed up to Quarry with this address. If it was you, confirm it and choose your password within an hour:",
      page.href,
      "If it was not you, do nothing: the address stays unconfirmed."
    ])
  })

  return { sendReset, sendConfirmation }
})

export type Mail = Effect.Success<ReturnType<typeof makeMail>>
