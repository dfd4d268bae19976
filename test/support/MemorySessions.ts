import { Context, Effect, Layer, Redacted } from "effect"
import type { Account } from "../../src/domain/Account.ts"
import { NotFound, unauthorized } from "../../src/domain/errors.ts"
import { Accounts } from "../../src/services/Accounts.ts"
import { Ids } from "../../src/services/Ids.ts"
import { Sessions } from "../../src/services/Sessions.ts"

/** Who is signed in; tests sign in by it. */
export class SignedIn extends Context.Service<
  SignedIn,
  {
    /** Opens a session and answers its `Cookie` header. */
    readonly cookie: (account: Account) => Effect.Effect<string>
  }
>()("quarry/test/support/SignedIn") {}

const cookieName = "quarry.session_token"

/** Sessions in a map, read from the accounts' own store at every request as a real store would. */
export const layer = Layer.effectContext(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const ids = yield* Ids
    const open = new Map<string, string>()

    const sessions = Sessions.of({
      cookieName,
      authenticate: Effect.fnUntraced(function* (cookie) {
        const token = Redacted.value(cookie)
        const account = yield* accounts
          .byId(open.get(token) ?? "")
          .pipe(Effect.catchTag("not_found", () => Effect.fail(unauthorized)))
        return { _tag: "session", account, sessionId: `ses_${token.slice(0, 8)}` }
      }),
      handle: () => Effect.fail(new NotFound({ message: "Nobody signs in here but by the test." })),
      forget: (accountId) =>
        Effect.sync(() => {
          for (const [token, owner] of open) if (owner === accountId) open.delete(token)
        })
    })

    const signedIn = SignedIn.of({
      cookie: Effect.fnUntraced(function* (account) {
        const token = Buffer.from(yield* ids.entropy(24)).toString("base64url")
        open.set(token, account.id)
        return `${cookieName}=${token}`
      })
    })

    return Context.make(Sessions, sessions).pipe(Context.add(SignedIn, signedIn))
  })
)
