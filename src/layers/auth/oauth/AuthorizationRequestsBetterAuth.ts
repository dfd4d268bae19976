import { Effect, Layer } from "effect"
import { isToolScope } from "../../../domain/accounts/OAuth.ts"
import { unauthorized } from "../../../domain/errors.ts"
import {
  AuthorizationRequestExpired,
  AuthorizationRequests,
  UnknownApp
} from "../../../services/accounts/AuthorizationRequests.ts"
import { Library } from "../betterAuth/Library.ts"
import { type Deps, post, redirectOf, textOf, tooManyAttempts } from "../betterAuth/LibraryCall.ts"
import type { SignInOptions } from "../betterAuth/Options.ts"

const describe = (deps: Deps): AuthorizationRequests["Service"]["describe"] =>
  Effect.fn("AuthorizationRequests.describe")(function* (browser, request) {
    const query = new URLSearchParams(request)
    const appId = query.get("client_id") ?? ""
    const body = { client_id: appId, oauth_query: request }
    const response = yield* post(deps, browser, "/oauth2/public-client-prelogin", body)
    if (response.status === 429) return yield* tooManyAttempts(response)
    if (response.status === 404) return yield* new UnknownApp()
    if (response.status !== 200) return yield* new AuthorizationRequestExpired()
    return {
      appName: textOf(response.body, "client_name"),
      appId,
      scopes: (query.get("scope") ?? "").split(" ").filter(isToolScope),
      redirectUri: query.get("redirect_uri") ?? ""
    }
  })

const decide = (deps: Deps): AuthorizationRequests["Service"]["decide"] =>
  Effect.fn("AuthorizationRequests.decide")(function* (browser, request, decision) {
    const body = { accept: decision === "allow", oauth_query: request }
    const response = yield* post(deps, browser, "/oauth2/consent", body)
    if (response.status === 429) return yield* tooManyAttempts(response)
    if (response.status === 401) return yield* unauthorized
    return redirectOf(response) ?? (yield* new AuthorizationRequestExpired())
  })

/** The library verifies the requests' signatures. */
export const layer = (options: SignInOptions): Layer.Layer<AuthorizationRequests, never, Library> =>
  Layer.effect(
    AuthorizationRequests,
    Effect.gen(function* () {
      const deps = { library: yield* Library, origin: new URL(options.baseUrl).origin }
      return AuthorizationRequests.of({ describe: describe(deps), decide: decide(deps) })
    })
  )
