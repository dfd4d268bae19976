import { Effect } from "effect"
import * as ByteSize from "effect/ByteSize"
import type { HttpServerRequest } from "effect/http"
import { InvalidRequest } from "../domain/errors.ts"

/** The largest request body that is read. */
export const maxBodyBytes = ByteSize.mebibytes(1)

export const unreadable = InvalidRequest.whole("the body is larger than 1 MiB or could not be read")

const notJson = InvalidRequest.whole("the body must be JSON, sent with Content-Type: application/json")

const jsonType = /^application\/json\s*(?:;|$)/i

/** The body as JSON. Whatever else it is fails the request as a whole (R3). */
export const readJson = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<unknown, InvalidRequest> => {
  const type = request.headers["content-type"]
  if (type !== undefined && !jsonType.test(type)) return Effect.fail(notJson)
  // Refused by its declaration: a sender that is slow to send what would be refused need not be waited for.
  if (Number(request.headers["content-length"]) > ByteSize.toNumberUnsafe(maxBodyBytes)) return Effect.fail(unreadable)
  return request.text.pipe(
    Effect.mapError(() => unreadable),
    Effect.flatMap((text) => Effect.try({ try: (): unknown => JSON.parse(text), catch: () => notJson }))
  )
}
