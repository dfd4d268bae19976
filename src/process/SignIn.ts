import { Effect, Layer, type Redacted } from "effect"
import * as Auth from "../layers/auth/Auth.ts"
import type { SingleSignOn } from "../layers/auth/betterAuth/Options.ts"
import * as EmailsLog from "../layers/auth/emails/EmailsLog.ts"
import * as EmailsOff from "../layers/auth/emails/EmailsOff.ts"
import * as FactorRenewal from "../layers/auth/FactorRenewal.ts"
import * as MembersBetterAuth from "../layers/auth/MembersBetterAuth.ts"
import * as ClientDocumentsNode from "../layers/auth/oauth/ClientDocumentsNode.ts"
import * as PeopleBetterAuth from "../layers/auth/PeopleBetterAuth.ts"
import * as SessionsBetterAuth from "../layers/auth/SessionsBetterAuth.ts"
import * as Ids from "../layers/Ids.ts"
import { Invitations } from "../services/accounts/Invitations.ts"
import { Keyrings } from "../services/operations/Keyrings.ts"
import { AppConfig } from "../settings/Settings.ts"
import { userAgentOf } from "./Pages.ts"
import * as Storage from "./store/Storage.ts"

export const emails = Layer.unwrap(
  Effect.gen(function* () {
    const { emailFrom, quarryBackground, smtpUrl } = yield* AppConfig
    if (smtpUrl === undefined || emailFrom === undefined) return EmailsLog.layer
    if (quarryBackground === "off") return EmailsOff.layer
    const EmailsSmtp = yield* Effect.promise(() => import("../layers/auth/emails/EmailsSmtp.ts"))
    return EmailsSmtp.layer({ url: smtpUrl, from: emailFrom })
  })
)

const client = (clientId: string | undefined, clientSecret: Redacted.Redacted | undefined) =>
  clientId === undefined || clientSecret === undefined ? undefined : { clientId, clientSecret }

const singleSignOn = (config: AppConfig["Service"]): SingleSignOn | undefined => {
  const own = client(config.oidcClientId, config.oidcClientSecret)
  const { oidcDomains: domains, oidcIssuer: issuer, oidcName: name, oidcOnly: isOnly } = config
  return own && issuer !== undefined ? { ...own, issuer, name, domains, isOnly } : undefined
}

/** Applies the rules for reading pages, even if that is off. */
const clientDocuments = AppConfig.layerFrom(({ baseUrl, pagesAllowPrivate, pagesUserAgent }) =>
  ClientDocumentsNode.layer({ userAgent: userAgentOf(pagesUserAgent, baseUrl), allowsPrivate: pagesAllowPrivate })
)

const signUpOf = ({ signUp, signUpDomains }: AppConfig["Service"]) => ({ mode: signUp, domains: signUpDomains })

const signIn = Layer.unwrap(
  Effect.gen(function* () {
    const config = yield* AppConfig
    const { AUTH_SECRET } = yield* Keyrings
    const renewal = FactorRenewal.layer({ secrets: AUTH_SECRET }).pipe(Layer.provide(Storage.background))
    return Auth.layer({
      baseUrl: config.baseUrl,
      secrets: AUTH_SECRET,
      google: client(config.googleClientId, config.googleClientSecret),
      github: client(config.githubClientId, config.githubClientSecret),
      oidc: singleSignOn(config),
      signUp: signUpOf(config),
      requiresSecondFactor: config.requireSecondFactor,
      registrationsPerMinute: config.oauthRegistrationsPerMinute
    }).pipe(Layer.provideMerge(renewal))
  })
)

export const layer = Invitations.layer.pipe(
  Layer.provideMerge(signIn),
  Layer.provide([emails, clientDocuments, Storage.layer, Storage.database, Ids.layer])
)

/** For operator commands: sends no emails and does not load Better Auth. */
export const people = Layer.unwrap(
  Effect.gen(function* () {
    const config = yield* AppConfig
    const { AUTH_SECRET: secrets } = yield* Keyrings
    const options = { baseUrl: config.baseUrl, secrets, signUp: signUpOf(config) }
    return Layer.mergeAll(
      SessionsBetterAuth.layer(options),
      PeopleBetterAuth.layer(options),
      MembersBetterAuth.layer(options)
    )
  })
).pipe(Layer.provide([Storage.database, Ids.layer]))

/** For the console: acts on people beside the sign-in that runs, and the emails about them. */
export const operators = Layer.unwrap(
  Effect.gen(function* () {
    const { baseUrl } = yield* AppConfig
    const { AUTH_SECRET: secrets } = yield* Keyrings
    return PeopleBetterAuth.layer({ baseUrl, secrets })
  })
).pipe(Layer.provide([Storage.database, Ids.layer]), Layer.merge(emails))
