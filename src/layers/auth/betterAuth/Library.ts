import { Context, Effect, Layer, Metric, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import type { Accounts } from "../../../services/accounts/Accounts.ts"
import type { ClientDocuments } from "../../../services/accounts/ClientDocuments.ts"
import type { Emails } from "../../../services/accounts/Emails.ts"
import type { Ids } from "../../../services/Ids.ts"
import type { SecretValue } from "../../../services/operations/Keyrings.ts"
import type { StoreClock } from "../../../services/StoreClock.ts"
import { emailsSuppressed, signInsDenied, signUpsDenied } from "../../../services/telemetry/Metrics.ts"
import type { SignInOptions } from "./Options.ts"
import { renewTokens } from "./RotatedSignatures.ts"

export class Library extends Context.Service<
  Library,
  {
    /** Dies if the library responds with a status of 500 or above. */
    readonly handle: (request: Request, address: string | undefined) => Effect.Effect<Response>
  }
>()("quarry/layers/auth/betterAuth/Library") {}

/** Starts each counter at 0, so that dashboards find the series before the first denial. */
const initializeCounters = Effect.forEach(
  [
    ...["closed", "invite", "domain", "client"].map((reason) => signUpsDenied.of(reason)),
    ...["account", "client", "busy"].map((reason) => signInsDenied.of(reason)),
    ...["reset", "confirmation"].flatMap((kind) =>
      ["client", "mailbox"].map((recipient) => emailsSuppressed.of(kind, recipient))
    )
  ],
  (count) => Metric.update(count, 0),
  { discard: true }
)

type LibraryServices = Accounts | ClientDocuments | Emails | Ids | SqlClient.SqlClient | StoreClock

/** Loads the library on first use, so that replicas that only serve API keys never load it. */
export const layer = (options: SignInOptions): Layer.Layer<Library, never, LibraryServices> =>
  Layer.effect(
    Library,
    Effect.gen(function* () {
      yield* initializeCounters
      const context = yield* Effect.context<LibraryServices | Scope.Scope>()
      const make = (secret: SecretValue) =>
        Effect.promise(() => import("./BetterAuth.ts")).pipe(
          Effect.flatMap(({ make }) => make({ ...options, secret: secret.secret, values: options.secrets.values() })),
          Effect.provideContext(context),
          Effect.uninterruptible,
          Effect.cached
        )
      const copies = new Map<string, Effect.Success<ReturnType<typeof make>>>()
      const present = Effect.suspend(() => {
        const [secret] = options.secrets.values()
        const copy = copies.get(secret.fingerprint)
        if (copy !== undefined) return copy
        return Effect.flatMap(make(secret), (made) => {
          const winner = copies.get(secret.fingerprint) ?? made
          copies.set(secret.fingerprint, winner)
          return winner
        })
      })
      return Library.of({
        handle: Effect.fnUntraced(function* (request, address) {
          const handle = yield* present
          const renewed = yield* Effect.provideContext(renewTokens(options.secrets, request), context)
          const response = yield* handle(renewed, address)
          if (response.status < 500) return response
          return yield* Effect.die(new Error(`sign-in failed with ${response.status}`))
        })
      })
    })
  )
