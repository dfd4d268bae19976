import { Effect, Layer, type Redacted } from "effect"
import * as Auth from "../layers/auth/Auth.ts"
import * as EmailsLog from "../layers/auth/EmailsLog.ts"
import * as PeopleBetterAuth from "../layers/auth/PeopleBetterAuth.ts"
import * as SessionsBetterAuth from "../layers/auth/SessionsBetterAuth.ts"
import * as Ids from "../layers/Ids.ts"
import { Keyrings } from "../services/Keyrings.ts"
import { AppConfig } from "../settings/Settings.ts"
import * as Storage from "./Storage.ts"

/** Emails over the mail server of the settings, or into the log. */
export const emails = Layer.unwrap(
  Effect.gen(function* () {
    const { emailFrom, smtpUrl } = yield* AppConfig
    if (smtpUrl === undefined || emailFrom === undefined) return EmailsLog.layer
    const EmailsSmtp = yield* Effect.promise(() => import("../layers/auth/EmailsSmtp.ts"))
    return EmailsSmtp.layer({ url: smtpUrl, from: emailFrom })
  })
)

const client = (clientId: string | undefined, clientSecret: Redacted.Redacted | undefined) =>
  clientId === undefined || clientSecret === undefined ? undefined : { clientId, clientSecret }

/** Sign-in by the settings: with a mail server or without, and with the identity providers that they name. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const config = yield* AppConfig
    const { AUTH_SECRET } = yield* Keyrings
    return Auth.layer({
      baseUrl: config.baseUrl,
      secrets: AUTH_SECRET,
      google: client(config.googleClientId, config.googleClientSecret),
      github: client(config.githubClientId, config.githubClientSecret),
      signUp: { mode: config.signUp, domains: config.signUpDomains }
    })
  })
).pipe(Layer.provide([emails, Storage.layer, Storage.database]))

/** The people behind accounts and their sessions, for the operator's commands: without emails and without the library. */
export const people = Layer.unwrap(
  Effect.gen(function* () {
    const { baseUrl } = yield* AppConfig
    const { AUTH_SECRET: secrets } = yield* Keyrings
    return Layer.merge(SessionsBetterAuth.layer({ baseUrl, secrets }), PeopleBetterAuth.layer({ baseUrl, secrets }))
  })
).pipe(Layer.provide([Storage.database, Ids.layer]))
