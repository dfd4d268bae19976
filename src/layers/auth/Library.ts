import { Context, Effect, Layer, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import type { Accounts } from "../../services/Accounts.ts"
import type { Emails } from "../../services/Emails.ts"
import type { SignInOptions } from "./Options.ts"

/** The sign-in library. Only layers of this folder use it, because it speaks HTTP. */
export class Library extends Context.Service<
  Library,
  {
    /** Dies of a response of 500 or above. */
    readonly handle: (request: Request, address: string | undefined) => Effect.Effect<Response>
  }
>()("quarry/layers/auth/Library") {}

/** Loads the library with the first request that needs it, so that replicas that serve only keys never pay for it. */
export const layer = (options: SignInOptions): Layer.Layer<Library, never, Accounts | Emails | SqlClient.SqlClient> =>
  Layer.effect(
    Library,
    Effect.gen(function* () {
      const context = yield* Effect.context<Accounts | Emails | SqlClient.SqlClient | Scope.Scope>()
      const library = yield* Effect.promise(() => import("./BetterAuth.ts")).pipe(
        Effect.flatMap(({ make }) => make(options)),
        Effect.provideContext(context),
        Effect.uninterruptible,
        Effect.cached
      )
      return Library.of({
        handle: Effect.fnUntraced(function* (request, address) {
          const handle = yield* library
          const response = yield* handle(request, address)
          if (response.status < 500) return response
          return yield* Effect.die(new Error(`sign-in failed with ${response.status}`))
        })
      })
    })
  )
