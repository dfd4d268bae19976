import { Clock, Duration, Effect, Metric, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { confirmPath, endSessionPath } from "../../../domain/accounts/OAuth.ts"
import { confirmationOf } from "../../../domain/emails/confirmation.ts"
import { type EmailBody, htmlText, momentText, plainText } from "../../../domain/emails/EmailBody.ts"
import { CurrentRequester } from "../../../domain/requests/CurrentRequester.ts"
import { Emails } from "../../../services/accounts/Emails.ts"
import { emailsSuppressed } from "../../../services/telemetry/Metrics.ts"
import { inActivity } from "../../sql/Requester.ts"
import type { AttemptLimit, Attempts } from "../Attempts.ts"
import { endTokenOf } from "../betterAuth/Digest.ts"
import { keyOf, type Requester } from "../Requester.ts"
import { storeResetToken, tokenCharacters } from "../ResetToken.ts"

const requesterLimit: AttemptLimit = { name: "emails of requester", max: 3, window: Duration.hours(1) }

/** Emails per address, so that no mailbox can be flooded. */
const mailboxLimit: AttemptLimit = { name: "emails", max: 5, window: Duration.hours(1) }

/** Reserved for browsers that the account knows, in case strangers use up the limit above (R66). */
const reserveLimit: AttemptLimit = { name: "emails of known browsers", max: 3, window: Duration.hours(1) }

/** Wrong passwords for an account per day, from all addresses, before its owner gets an email. */
const unnoticedLimit: AttemptLimit = { name: "wrong passwords", max: 9, window: Duration.days(1) }

const noticeLimit: AttemptLimit = { name: "wrong password emails", max: 1, window: Duration.days(1) }

/** Failed sign-ins that a person's accounts record per day (R68), so that strangers cannot fill the table. */
const recordedLimit: AttemptLimit = { name: "recorded sign-in failures", max: 20, window: Duration.days(1) }

const newPlaceLimit: AttemptLimit = { name: "new place emails", max: 10, window: Duration.days(1) }

type Kind = "reset" | "confirmation"

/** Better Auth writes `/` if the request has no `callbackURL`. */
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
  /** Better Auth's link. It is not sent, because its path may hold a token and paths are logged. */
  readonly url: string
}

interface NewPlace {
  readonly sessionId: string
  readonly userAgent: string
  readonly to: string
}

const ofBody = (to: string, body: EmailBody) => ({
  to,
  subject: body.subject,
  text: plainText(body),
  html: htmlText(body)
})

const factsOf = (at: number, { address }: Pick<Requester, "address">): EmailBody["facts"] => [
  ["When", momentText(at)],
  ...(address === "" ? [] : [["From", address] as const])
]

const suppress = (kind: Kind, reason: "client" | "mailbox") =>
  Effect.andThen(
    Metric.update(emailsSuppressed.of(kind, reason), 1),
    Effect.logWarning("An email was not sent, because a limit was reached").pipe(Effect.annotateLogs({ kind, reason }))
  )

/** The requester cannot tell whether a limit stopped the email. */
const makeRequested = Effect.fnUntraced(function* (attempts: Attempts) {
  const emails = yield* Emails
  const runInBackground = yield* makeRunInBackground

  return (requester: Requester, kind: Kind, to: string, content: Omit<EmailBody, "facts" | "links">): void => {
    runInBackground(
      Effect.gen(function* () {
        if ((yield* attempts.count(requesterLimit, keyOf(requester, to))) !== undefined) {
          return yield* suppress(kind, "client")
        }
        const limit = requester.browser === undefined ? mailboxLimit : reserveLimit
        if ((yield* attempts.count(limit, to)) !== undefined) return yield* suppress(kind, "mailbox")
        const facts = factsOf(yield* Clock.currentTimeMillis, requester)
        yield* emails.send(ofBody(to, { ...content, facts, links: [] }))
      })
    )
  }
})

/** Runs in the background: the time the mail server takes would reveal that the address has an account. */
const makeRunInBackground = Effect.gen(function* () {
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const scope = yield* Effect.scope
  return (effect: Effect.Effect<unknown, unknown>): void => {
    const logged = Effect.catchCause(effect, (cause) => Effect.logError("An email was not sent", cause))
    runFork(Effect.forkIn(logged, scope))
  }
})

const makeNoteWrongPassword = Effect.fnUntraced(function* (
  { baseUrl }: { readonly baseUrl: string },
  attempts: Attempts
) {
  const sql = yield* SqlClient.SqlClient
  const emails = yield* Emails
  const runInBackground = yield* makeRunInBackground
  const content = {
    subject: "Failed sign-in attempts on your Quarry account",
    paragraphs: [
      "Someone entered a wrong password for your Quarry account at least ten times within a day. None of these attempts succeeded.",
      "You can change your password and sign out other browsers here:"
    ],
    button: { text: "Open your account", href: `${baseUrl}/dashboard/account` },
    ifUnexpected:
      "If this was you, you can ignore this email. If not, make sure that you use this password only for Quarry.",
    links: []
  }

  const record = Effect.fnUntraced(function* (email: string) {
    if ((yield* attempts.count(recordedLimit, email)) !== undefined) return
    yield* sql`
      select account_event_add(m.account_id, 'person.sign_in_failed', jsonb_build_object('email', u.email), null)
      from auth_users u join members m on m.user_id = u.id where u.email = ${email.replaceAll("\0", "")}`
  }, inActivity(sql))

  return Effect.fnUntraced(function* (email: string, requester: Requester) {
    runInBackground(Effect.provideService(record(email), CurrentRequester, yield* CurrentRequester))
    if ((yield* attempts.count(unnoticedLimit, email)) === undefined) return
    runInBackground(
      Effect.gen(function* () {
        // A sign-up with someone else's address must not cause emails to that mailbox.
        const people = yield* sql`
          select 1 from auth_users u join members m on m.user_id = u.id
          where u.email = ${email.replaceAll("\0", "")} limit 1`
        if (people.length === 0) return
        if ((yield* attempts.count(noticeLimit, email)) !== undefined) return
        const facts = factsOf(yield* Clock.currentTimeMillis, requester)
        yield* emails.send(ofBody(email, { ...content, facts }))
      })
    )
  })
})

/** Links open a page with a form, because mail gateways open links themselves. */
export const makeMail = Effect.fnUntraced(function* (
  { baseUrl, secret }: { readonly baseUrl: string; readonly secret: Redacted.Redacted },
  attempts: Attempts,
  makeToken: (characters: number) => string
) {
  const sql = yield* SqlClient.SqlClient
  const request = yield* makeRequested(attempts)
  const noteWrongPassword = yield* makeNoteWrongPassword({ baseUrl }, attempts)

  const sendReset = (requester: Requester, { token, url, user }: Link & { readonly token: string }) => {
    const page = new URL(callbackOf(new URL(url)) ?? confirmPath, baseUrl)
    page.searchParams.set("token", token)
    request(requester, "reset", user.email, {
      subject: "Reset your Quarry password",
      paragraphs: [
        "Someone, probably you, asked to reset your password. Use this link to choose a new one. It works once and expires in one hour:"
      ],
      button: { text: "Choose a new password", href: page.href },
      ifUnexpected: "If this was not you, ignore this email. Your password stays the same."
    })
  }

  /** The recipient chooses a new password: a stranger who signed up with the address must not get in. */
  const sendConfirmation = Effect.fnUntraced(function* (requester: Requester, { url, user }: Link) {
    const token = makeToken(tokenCharacters)
    yield* storeResetToken(sql, secret, token, user.id)
    const page = new URL(confirmPath, baseUrl)
    page.searchParams.set("token", token)
    const callback = callbackOf(new URL(url, baseUrl))
    if (callback !== undefined) page.searchParams.set("callbackURL", callback)
    request(requester, "confirmation", user.email, confirmationOf(page.href))
  })

  const runInBackground = yield* makeRunInBackground
  const emails = yield* Emails

  const sendNewPlace = (requester: Requester, { sessionId, to, userAgent }: NewPlace): void =>
    runInBackground(
      Effect.gen(function* () {
        if ((yield* attempts.count(newPlaceLimit, to)) !== undefined) return
        const facts = factsOf(yield* Clock.currentTimeMillis, requester)
        const content = {
          subject: "New sign-in to your Quarry account",
          paragraphs: [
            "Someone, probably you, signed in from a browser and a network that you have not used for 90 days."
          ],
          facts: [...facts, ["Browser", userAgent.slice(0, 200)] as const],
          button: {
            text: "End this session",
            href: `${baseUrl}${endSessionPath}?token=${endTokenOf(secret, sessionId)}`
          },
          ifUnexpected: "If this was not you, end the session and change your password. If it was you, do nothing.",
          links: []
        }
        yield* emails.send(ofBody(to, content))
      })
    )

  return { sendReset, sendConfirmation, sendNewPlace, noteWrongPassword }
})

export type Mail = Effect.Success<ReturnType<typeof makeMail>>
