import { Context, Effect, Layer } from "effect"
import { HttpMiddleware, HttpPlatform, HttpRouter, HttpServerRequest } from "effect/http"

/** True where responses are compressed (R52). Off by default, because a proxy in front usually does it. */
export const CompressesResponses = Context.Reference<boolean>("quarry/http/CompressesResponses", {
  defaultValue: () => false
})

/** The smallest response that is compressed: below it the coding saves no packet. */
const minBytes = 1024

/**
 * The longest `Accept-Encoding` that is read. The library's parser takes time with the square of a run of spaces, and what
 * browsers send has 40 characters.
 */
const maxAcceptCharacters = 256

/** Brotli's highest level takes 20 to 80 times as long as 4, for a sixth less (`bench/compression.ts`). */
const levels = { br: 4, gzip: 6 }

/**
 * The most responses that are compressed at once, in the threads of libuv. Responses above it are sent as they are:
 * those that wait for a thread are in memory, and the limits of the listener do not count them.
 */
const maxCompressions = 64

/** Compresses as `platform` does, within `maxCompressions`. */
const withLimit = (platform: HttpPlatform.HttpPlatform["Service"]): HttpPlatform.HttpPlatform["Service"] => {
  const { algorithms, compressResponse } = platform.compression
  let running = 0
  const compress: typeof compressResponse = (response, algorithm, options) =>
    Effect.suspend(() => {
      if (running >= maxCompressions) return Effect.succeed(response)
      running++
      return Effect.ensuring(
        compressResponse(response, algorithm, options),
        Effect.sync(() => {
          running--
        })
      )
    })
  return { ...platform, compression: { algorithms, compressResponse: compress } }
}

/**
 * Compresses responses that their caller accepts compressed. What is compressed already (`http/docs/assets.ts`), and
 * what says `no-transform`, such as a stream whose parts must not wait for each other, stays as it is.
 */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    if (!(yield* CompressesResponses)) return Layer.empty
    const platform = withLimit(yield* HttpPlatform.HttpPlatform)
    const compress = HttpMiddleware.compression({ algorithms: ["br", "gzip"], minSize: minBytes, levels })
    return HttpRouter.middleware(
      (app) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
          (headers["accept-encoding"]?.length ?? 0) > maxAcceptCharacters
            ? app
            : Effect.provideService(compress(app), HttpPlatform.HttpPlatform, platform)
        ),
      { global: true }
    )
  })
)
