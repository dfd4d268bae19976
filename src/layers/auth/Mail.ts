import { Duration, Effect, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { confirmPath } from "../../domain/OAuth.ts"
import { Emails } from "../../services/Emails.ts"
import type { AttemptLimit, Attempts } from "./Attempts.ts"
import { digestOf } from "./Digest.ts"

/** How long the links in emails are good. */
export const linkLife = Duration.hours(1)

/** Of one address, whatever they are about: nobody's mailbox is filled from here. */
const emailLimit: AttemptLimit = { name: "emails", max: 5, window: Duration.hours(1) }

/** Where links in emails lead when the page that asked for them named no page. */
const landing = "/dashboard"

/** 32 letters and digits make a token that nobody guesses. */
const tokenCharacters = 32

const destination = (link: URL): string => {
  const named = link.searchParams.get("callbackURL") ?? ""
  return named === "" || named === "/" ? landing : named
}

interface Person {
  readonly id: string
  readonly email: string
}

interface Link {
  readonly user: Person
  /** The library's own, which names the page to go on to. */
  readonly url: string
}

/** Sends in the background: how long a mail server takes must not tell who is known. */
const makeSend = Effect.fnUntraced(function* (attempts: Attempts) {
  const emails = yield* Emails
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const scope = yield* Effect.scope

  return (to: string, subject: string, lines: ReadonlyArray<string>): void => {
    const sent = Effect.gen(function* () {
      if ((yield* attempts.count(emailLimit, to)) === undefined) {
        return yield* emails.send({ to, subject, text: lines.join("\n\n") })
      }
      yield* Effect.logWarning(`An email was not sent, its address had ${emailLimit.max} in an hour: ${subject}`)
    }).pipe(Effect.catchCause((cause) => Effect.logError("An email was not sent", cause)))
    runFork(Effect.forkIn(sent, scope))
  }
})

/** The emails of sign-in. */
export const makeMail = Effect.fnUntraced(function* (
  { baseUrl, secret }: { readonly baseUrl: string; readonly secret: Redacted.Redacted },
  attempts: Attempts,
  makeToken: (characters: number) => string
) {
  const sql = yield* SqlClient.SqlClient
  const { delivers } = yield* Emails
  const send = yield* makeSend(attempts)

  /**
   * Straight to the page that asks for the new password: the library's own link has the token in its path, and logs have
   * paths.
   */
  const sendReset = ({ token, url, user }: Link & { readonly token: string }) => {
    const link = new URL(url)
    const page = new URL(destination(link), baseUrl)
    page.searchParams.set("token", token)
    send(user.email, "Choose a new password for Quarry", [
      "Somebody, probably you, asked to choose a new password. This link does it, once and within an hour:",
      page.href,
      "If it was not you, do nothing: the password stays as it is."
    ])
  }

  /** Where nothing is delivered, the operator hands this one on. It confirms when it is opened. */
  const sendLink = ({ url, user }: Link) => {
    const link = new URL(url)
    link.searchParams.set("callbackURL", destination(link))
    send(user.email, "Confirm your address for Quarry", [
      "Somebody signed up to Quarry with this address. If it was you, confirm it within an hour:",
      link.href,
      "If it was not you, do not open the link: it would let them in as you."
    ])
  }

  /**
   * To the page where whoever reads the address's mail chooses its password. The token is the library's for a reset,
   * which is what the page does: whoever signed up may be somebody else, and must not get in with the word they chose.
   */
  const sendConfirmation = Effect.fnUntraced(function* ({ url, user }: Link) {
    const token = makeToken(tokenCharacters)
    const digest = digestOf(secret, "verification", `reset-password:${token}`)
    const life = sql`${Duration.toMillis(linkLife)} * interval '1 millisecond'`
    yield* sql`
      insert into auth_verifications (id, digest, value, expires_at, created_at, updated_at)
      values (${digest}, ${digest}, ${user.id}, clock_timestamp() + ${life}, clock_timestamp(), clock_timestamp())`
    const page = new URL(confirmPath, baseUrl)
    page.searchParams.set("token", token)
    page.searchParams.set("callbackURL", destination(new URL(url, baseUrl)))
    send(user.email, "Confirm your address for Quarry", [
      "Somebody signed up to Quarry with this address. If it was you, confirm it and choose your password within an hour:",
      page.href,
      "If it was not you, do nothing: nobody is let in."
    ])
  })

  return {
    sendReset,
    sendConfirmation: delivers ? sendConfirmation : (link: Link) => Effect.sync(() => sendLink(link))
  }
})
