import { Effect, Layer } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Sessions } from "../../services/Sessions.ts"
import { maxBodyBytes } from "../body.ts"
import { clientAddress } from "../clientAddress.ts"
import { undeclaredResponse } from "../errors.ts"

/** Sign-in. Its answers are the sign-in library's own; what it does not offer is not found like anything else (R3). */
export const layer = Layer.unwrap(
  Effect.map(Sessions, (sessions) => {
    const answer = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { headers, method } = request
      const body = yield* Effect.provideService(request.text, HttpIncomingMessage.MaxBodySize, maxBodyBytes)
      // The host is nobody's: which one a client wrote into its request decides nothing.
      const url = new URL(request.url, "http://quarry.invalid")
      const sent = new Request(url, { method, headers, body: method === "GET" || body === "" ? null : body })
      const response = yield* sessions.handle(sent, yield* clientAddress)
      // Read to its end here: a stream that breaks off later could not be answered any more.
      const text = yield* Effect.promise(() => response.text())
      const { headers: answered, status } = response
      return HttpServerResponse.fromWeb(new Response(text === "" ? null : text, { status, headers: answered }))
    }).pipe(Effect.catchTag("not_found", undeclaredResponse))

    return Layer.mergeAll(HttpRouter.add("GET", "/api/auth/*", answer), HttpRouter.add("POST", "/api/auth/*", answer))
  })
)
