import { Effect, Layer } from "effect"
import { unauthorized } from "../../domain/errors.ts"
import { Sessions } from "../../services/Sessions.ts"

/** A deployment at which nobody can sign in. */
export const layer = (options: { readonly secure: boolean }): Layer.Layer<Sessions> =>
  Layer.succeed(Sessions, {
    cookieName: options.secure ? "__Secure-quarry.session_token" : "quarry.session_token",
    authenticate: () => Effect.fail(unauthorized),
    handle: () => Effect.succeed(new Response(null, { status: 404 })),
    forget: () => Effect.void
  })
