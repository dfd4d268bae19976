import { Duration, Effect, Metric, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { confirmPath } from "../../domain/OAuth.ts"
import { Emails } from "../../services/Emails.ts"
import { emailsSuppressed } from "../../services/Metrics.ts"
import type { AttemptLimit, Attempts } from "./Attempts.ts"
import { keyOf, type Requester } from "./Requester.ts"
import { storeResetToken, tokenCharacters } from "./ResetToken.ts"

/** Emails that a requester has sent to one address. */
const requesterLimit: AttemptLimit = { name: "emails of requester", max: 3, window: Duration.hours(1) }

/** Emails to one address, so that nobody fills a mailbox from here. */
const mailboxLimit: AttemptLimit = { name: "emails", max: 5, window: Duration.hours(1) }

/** Kept for browsers that the account knows, when strangers have used up the limit above (R66). */
const reserveLimit: AttemptLimit = { name: "emails of known browsers", max: 3, window: Duration.hours(1) }

/** Wrong passwords for an account in a day, from wherever they come, before the person gets an email. */
const unnoticedLimit: AttemptLimit = { name: "wrong passwords", max: 9, window: Duration.days(1) }

const noticeLimit: AttemptLimit = { name: "wrong password emails", max: 1, window: Duration.days(1) }

type Kind = "reset" | "confirmation"

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

interface Email {
  readonly to: string
  readonly subject: string
  readonly paragraphs: ReadonlyArray<string>
}

const suppress = (kind: Kind, reason: "client" | "mailbox") =>
  Effect.andThen(
    Metric.update(emailsSuppressed.of(kind, reason), 1),
    Effect.logWarning("An email was not sent, because a limit was reached").pipe(Effect.annotateLogs({ kind, reason }))
  )

/** Sends an email that a requester asked for, unless a limit is reached. The requester does not learn which. */
const makeRequested = Effect.fnUntraced(function* (attempts: Attempts) {
  const emails = yield* Emails
  const runInBackground = yield* makeRunInBackground

  return (requester: Requester, kind: Kind, { paragraphs, subject, to }: Email): void => {
    runInBackground(
      Effect.gen(function* () {
        if ((yield* attempts.count(requesterLimit, keyOf(requester, to))) !== undefined) {
          return yield* suppress(kind, "client")
        }
        const limit = requester.browser === undefined ? mailboxLimit : reserveLimit
        if ((yield* attempts.count(limit, to)) !== undefined) return yield* suppress(kind, "mailbox")
        yield* emails.send({ to, subject, text: paragraphs.join("\n\n") })
      })
    )
  }
})

/** Runs in the background, because the time that a mail server takes would show whether the address is known. */
const makeRunInBackground = Effect.gen(function* () {
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const scope = yield* Effect.scope
  return (effect: Effect.Effect<unknown, unknown>): void => {
    const logged = Effect.catchCause(effect, (cause) => Effect.logError("An email was not sent", cause))
    runFork(Effect.forkIn(logged, scope))
  }
})

/** Counts wrong passwords for an address, and tells its person of many, once a day. */
const makeNoteWrongPassword = Effect.fnUntraced(function* (
  { baseUrl }: { readonly baseUrl: string },
  attempts: Attempts
) {
  const sql = yield* SqlClient.SqlClient
  const emails = yield* Emails
  const runInBackground = yield* makeRunInBackground
  const subject = "Wrong passwords for your Quarry account"
  const text = [
    "Somebody has entered wrong passwords for your Quarry account, at least ten within a day. None of them was accepted.",
    "If it was you, there is nothing to do. If it was not, make sure that you use your password nowhere else. Here you change it, and end the sessions of other browsers:",
    `${baseUrl}/dashboard/account`
  ].join("\n\n")

  return Effect.fnUntraced(function* (email: string) {
    if ((yield* attempts.count(unnoticedLimit, email)) === undefined) return
    runInBackground(
      Effect.gen(function* () {
        // Whoever signs up with somebody else's address must not fill that mailbox.
        const people = yield* sql`
          select 1 from auth_users where email = ${email.replaceAll("\0", "")} and account_id is not null`
        if (people.length === 0) return
        if ((yield* attempts.count(noticeLimit, email)) === undefined) yield* emails.send({ to: email, subject, text })
      })
    )
  })
})

/** The emails of sign-in. Their links open pages that change nothing before a form is sent: mail gateways open links. */
export const makeMail = Effect.fnUntraced(function* (
  { baseUrl, secret }: { readonly baseUrl: string; readonly secret: Redacted.Redacted },
  attempts: Attempts,
  makeToken: (characters: number) => string
) {
  const sql = yield* SqlClient.SqlClient
  const request = yield* makeRequested(attempts)
  const noteWrongPassword = yield* makeNoteWrongPassword({ baseUrl }, attempts)

  /** Leads to the page of the request's `redirectTo`, or to our own. */
  const sendReset = (requester: Requester, { token, url, user }: Link & { readonly token: string }) => {
    const page = new URL(callbackOf(new URL(url)) ?? confirmPath, baseUrl)
    page.searchParams.set("token", token)
    request(requester, "reset", {
      to: user.email,
      subject: "Choose a new password for Quarry",
      paragraphs: [
        "Somebody, probably you, asked to choose a new password. This link does it, once and within an hour:",
        page.href,
        "If it was not you, do nothing: the password stays as it is."
      ]
    })
  }

  /**
   * Leads to our page, where the reader of the email chooses the password. Somebody else may have signed up with the
   * address, and must not get in with the password of that sign-up.
   */
  const sendConfirmation = Effect.fnUntraced(function* (requester: Requester, { url, user }: Link) {
    const token = makeToken(tokenCharacters)
    yield* storeResetToken(sql, secret, token, user.id)
    const page = new URL(confirmPath, baseUrl)
    page.searchParams.set("token", token)
    const callback = callbackOf(new URL(url, baseUrl))
    if (callback !== undefined) page.searchParams.set("callbackURL", callback)
    request(requester, "confirmation", {
      to: user.email,
      subject: "Confirm your address for Quarry",
      paragraphs: [
        "Somebody signed up to Quarry with this address. If it was you, confirm it and choose your password within an hour:",
        page.href,
        "If it was not you, do nothing: the address stays unconfirmed."
      ]
    })
  })

  return { sendReset, sendConfirmation, noteWrongPassword }
})

export type Mail = Effect.Success<ReturnType<typeof makeMail>>
