import { Effect } from "effect"
import * as ByteSize from "effect/ByteSize"
import type { HttpServerRequest } from "effect/http"
import { InvalidRequest } from "../domain/errors.ts"

/** The largest request body that is read. */
export const maxBodyBytes = ByteSize.mebibytes(1)

export const unreadable = InvalidRequest.whole("the body is larger than 1 MiB or could not be read")

const notJson = InvalidRequest.whole("the body must be JSON, sent with Content-Type: application/json")

/** Fatal: bytes that are not UTF-8 would otherwise be replaced, and another search run than the one that was sent. */
const utf8 = new TextDecoder("utf-8", { fatal: true })

const jsonType = /^application\/json\s*(?:;|$)/i

/** The body as text. A wrong content type or none, one that is too large and bytes that are no text fail the request (R3). */
export const readText = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<string, InvalidRequest> => {
  const type = request.headers["content-type"]
  if (type === undefined || !jsonType.test(type)) return Effect.fail(notJson)
  // Refused by its declaration: a sender that is slow to send what would be refused need not be waited for.
  if (Number(request.headers["content-length"]) > ByteSize.toNumberUnsafe(maxBodyBytes)) return Effect.fail(unreadable)
  return request.arrayBuffer.pipe(
    Effect.mapError(() => unreadable),
    Effect.flatMap((bytes) => Effect.try({ try: () => utf8.decode(bytes), catch: () => notJson }))
  )
}

/** The body as JSON. */
export const readJson = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<unknown, InvalidRequest> =>
  Effect.flatMap(readText(request), (text) =>
    Effect.try({ try: (): unknown => JSON.parse(text), catch: () => notJson })
  )
