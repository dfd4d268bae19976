import { Context, Effect, Layer, Redacted } from "effect"
import type { Account } from "../domain/Account.ts"
import { NotFound, unauthorized } from "../domain/errors.ts"
import { AccessTokens } from "../services/AccessTokens.ts"
import { Accounts } from "../services/Accounts.ts"
import { Ids } from "../services/Ids.ts"
import { Sessions } from "../services/Sessions.ts"

/** Who is signed in; tests sign in by it. */
export class SignedIn extends Context.Service<
  SignedIn,
  {
    /** Opens a session and answers its `Cookie` header. */
    readonly cookie: (account: Account) => Effect.Effect<string>
    /** Lets an app in and answers its `Authorization` header. */
    readonly app: (account: Account) => Effect.Effect<string>
  }
>()("quarry/testing/SignedIn") {}

const cookieName = "quarry.session_token"

/** Sessions in a map, read from the accounts' own store at every request as a real store would. */
export const layer = Layer.effectContext(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const ids = yield* Ids
    const open = new Map<string, string>()

    const ownerOf = (token: string) =>
      accounts.byId(open.get(token) ?? "").pipe(Effect.catchTag("not_found", () => Effect.fail(unauthorized)))

    const sessions = Sessions.of({
      cookieName,
      providers: [],
      authenticate: Effect.fnUntraced(function* (cookie) {
        const token = Redacted.value(cookie)
        const account = yield* ownerOf(token)
        return { _tag: "session", account, sessionId: `ses_${token.slice(0, 8)}` }
      }),
      handle: () => Effect.fail(new NotFound({ message: "Nobody signs in here but by the test." })),
      forget: (accountId) =>
        Effect.sync(() => {
          for (const [token, owner] of open) if (owner === accountId) open.delete(token)
        })
    })

    const accessTokens = AccessTokens.of({
      authenticate: (token) =>
        Effect.map(ownerOf(Redacted.value(token)), (account) => ({ _tag: "oauth" as const, account }))
    })

    const openFor = Effect.fnUntraced(function* (account: Account) {
      const token = Buffer.from(yield* ids.entropy(24)).toString("base64url")
      open.set(token, account.id)
      return token
    })

    const signedIn = SignedIn.of({
      cookie: (account) => Effect.map(openFor(account), (token) => `${cookieName}=${token}`),
      app: (account) => Effect.map(openFor(account), (token) => `Bearer ${token}`)
    })

    return Context.make(Sessions, sessions).pipe(
      Context.add(SignedIn, signedIn),
      Context.add(AccessTokens, accessTokens)
    )
  })
)
