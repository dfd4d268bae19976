import { Effect, Layer } from "effect"
import { canAuthorizeApps } from "../../domain/accounts/OAuth.ts"
import { NotFound } from "../../domain/errors.ts"
import { AuthRoutes } from "../../services/accounts/AuthRoutes.ts"
import { Library } from "./betterAuth/Library.ts"
import { isOffered } from "./betterAuth/LibraryRoutes.ts"
import { providersOf, type SignInOptions } from "./betterAuth/Options.ts"

export const layer = (options: SignInOptions): Layer.Layer<AuthRoutes, never, Library> =>
  Layer.effect(
    AuthRoutes,
    Effect.gen(function* () {
      const library = yield* Library
      const offer = { providers: providersOf(options).length > 0, apps: canAuthorizeApps(options.baseUrl) }

      const handle = Effect.fn("AuthRoutes.handle")(function* (request: Request, address: string | undefined) {
        if (isOffered(request.method, new URL(request.url).pathname, offer))
          return yield* library.handle(request, address)
        return yield* new NotFound({ message: "There is no sign-in route at this path." })
      })

      return AuthRoutes.of({ handle })
    })
  )
