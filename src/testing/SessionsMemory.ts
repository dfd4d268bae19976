import { Context, Effect, Layer, Option, Redacted } from "effect"
import type { Account } from "../domain/accounts/Account.ts"
import { type ToolScope, toolScopes } from "../domain/accounts/OAuth.ts"
import type { PrincipalBounds, SessionPrincipal } from "../domain/accounts/Principal.ts"
import { NotFound, unauthorized } from "../domain/errors.ts"
import { AccessTokens } from "../services/accounts/AccessTokens.ts"
import { Accounts } from "../services/accounts/Accounts.ts"
import { AuthorizationRequestExpired, AuthorizationRequests } from "../services/accounts/AuthorizationRequests.ts"
import { AuthRoutes } from "../services/accounts/AuthRoutes.ts"
import { ConnectedApps } from "../services/accounts/ConnectedApps.ts"
import { maxSessions, Sessions } from "../services/accounts/Sessions.ts"
import { SignIn, SignInFailed } from "../services/accounts/SignIn.ts"
import { Ids } from "../services/Ids.ts"
import { memberIdOf } from "./MembersMemory.ts"
import { boundsOfMember, MemoryStore } from "./MemoryStore.ts"

export class SignedIn extends Context.Service<
  SignedIn,
  {
    /** Of the account's only person, who has the account's ID. */
    readonly cookie: (account: Account) => Effect.Effect<string>
    readonly app: (account: Account, scopes?: ReadonlyArray<ToolScope>) => Effect.Effect<string>
  }
>()("quarry/testing/SignedIn") {}

const cookieName = "quarry.session_token"

const closed = Effect.fail(new SignInFailed({ message: "Only the test signs people in." }))

const expired = Effect.fail(new AuthorizationRequestExpired())

/** Fail always: tests open sessions with `SignedIn`. */
const closedPages = Layer.mergeAll(
  Layer.succeed(SignIn, {
    providers: [],
    deliversEmails: false,
    signUpMode: "closed",
    hasPasswords: true,
    withPassword: () => closed,
    withCode: () => closed,
    signUp: () => closed,
    atProvider: () => closed,
    requestPasswordReset: () => closed,
    addressOfLink: () => Effect.undefined,
    resetPassword: () => closed
  }),
  Layer.succeed(AuthorizationRequests, { describe: () => expired, decide: () => expired }),
  Layer.succeed(AuthRoutes, { handle: () => Effect.fail(new NotFound({ message: "Only the test signs people in." })) })
)

const sessionIdOf = (token: string): string => `ses_${token.slice(0, 8)}`

const appIdOf = (token: string): string => `app_${token.slice(0, 8)}`

const tokensOf = (map: ReadonlyMap<string, string>, accountId: string): ReadonlyArray<string> =>
  [...map].flatMap(([token, owner]) => (owner === accountId ? [token] : []))

const removeFrom = (map: Map<string, string>, accountId: string, matches: (token: string) => boolean) =>
  Effect.suspend(() => {
    const token = tokensOf(map, accountId).find(matches)
    if (token === undefined) return Effect.fail(new NotFound({ message: "The account has nothing of this id." }))
    map.delete(token)
    return Effect.void
  })

const connectedAppsIn = (apps: Map<string, string>) =>
  ConnectedApps.of({
    list: ({ accountId }) =>
      Effect.sync(() =>
        tokensOf(apps, accountId).map((token) => ({
          id: appIdOf(token),
          name: "An app",
          verifiedHost: undefined,
          dailyCredits: undefined,
          connectedAt: 0,
          renewedAt: 0
        }))
      ),
    limit: () => Effect.void,
    end: ({ accountId }, id) => removeFrom(apps, accountId, (token) => appIdOf(token) === id)
  })

const principalOf = (account: Account, token: string, bounds: PrincipalBounds | undefined): SessionPrincipal => ({
  _tag: "session",
  account,
  sessionId: sessionIdOf(token),
  personId: account.id,
  memberId: memberIdOf(account.id),
  role: "owner",
  isFresh: true,
  needsSecondFactor: false,
  bounds
})

/** Stores other than `MemoryStore` know no bounds of members. */
const makeBoundsOf = Effect.map(
  Effect.serviceOption(MemoryStore),
  (store) =>
    ({ id }: Account) =>
      Option.isSome(store) ? boundsOfMember(store.value, id, id) : undefined
)

/** Each request reads the account from its store, as the real layer does. */
const sessions = Layer.effectContext(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const ids = yield* Ids
    const open = new Map<string, string>()
    const apps = new Map<string, string>()
    const granted = new Map<string, ReadonlyArray<ToolScope>>()
    const boundsOf = yield* makeBoundsOf
    const ownerOf = (token: string) =>
      accounts
        .byId(open.get(token) ?? apps.get(token) ?? "")
        .pipe(Effect.catchTag("not_found", () => Effect.fail(unauthorized)))

    const store = Sessions.of({
      cookieName,
      authenticate: Effect.fnUntraced(function* (cookie) {
        const token = Redacted.value(cookie)
        const account = yield* ownerOf(token)
        return principalOf(account, token, boundsOf(account))
      }),
      list: (personId) =>
        Effect.sync(() =>
          tokensOf(open, personId).map((token) => ({
            id: sessionIdOf(token),
            createdAt: 0,
            extendedAt: 0,
            expiresAt: 0,
            userAgent: undefined
          }))
        ),
      end: (personId, id) => removeFrom(open, personId, (token) => sessionIdOf(token) === id),
      endByLink: () => Effect.succeed(false),
      forget: (accountId) =>
        Effect.sync(() => {
          for (const map of [open, apps]) for (const token of tokensOf(map, accountId)) map.delete(token)
        })
    })

    const accessTokens = AccessTokens.of({
      authenticate: (token) =>
        Effect.map(ownerOf(Redacted.value(token)), (account) => ({
          _tag: "oauth" as const,
          account,
          personId: account.id,
          bounds: boundsOf(account),
          scopes: granted.get(Redacted.value(token)) ?? toolScopes
        }))
    })

    const openFor = Effect.fnUntraced(function* (account: Account, map: Map<string, string>) {
      const token = Buffer.from(yield* ids.entropy(24)).toString("base64url")
      map.set(token, account.id)
      if (map === open) for (const ended of tokensOf(open, account.id).slice(0, -maxSessions)) open.delete(ended)
      return token
    })

    const signedIn = SignedIn.of({
      cookie: (account) => Effect.map(openFor(account, open), (token) => `${cookieName}=${token}`),
      app: (account, scopes = toolScopes) =>
        Effect.map(openFor(account, apps), (token) => {
          granted.set(token, scopes)
          return `Bearer ${token}`
        })
    })

    return Context.make(Sessions, store).pipe(
      Context.add(SignedIn, signedIn),
      Context.add(AccessTokens, accessTokens),
      Context.add(ConnectedApps, connectedAppsIn(apps))
    )
  })
)

export const layer = Layer.merge(sessions, closedPages)
