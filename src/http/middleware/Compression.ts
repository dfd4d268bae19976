import { Context, Effect, Layer } from "effect"
import { HttpMiddleware, HttpPlatform, HttpRouter, HttpServerRequest } from "effect/http"

/** Enables response compression (R52). Off by default, because a proxy in front usually does it. */
export const CompressesResponses = Context.Reference<boolean>("quarry/references/CompressesResponses", {
  defaultValue: () => false
})

/** Compressing smaller responses saves no packet. */
const minBytes = 1024

/** The library's parser is quadratic in runs of spaces. Browsers send about 40 characters. */
const maxAcceptCharacters = 256

/** Brotli's highest level takes 20 to 80 times as long as level 4 and saves a sixth (`bench/compression.ts`). */
const levels = { br: 4, gzip: 6 }

/** Above this, responses are sent uncompressed. Waiting ones would occupy memory that has no limit. */
const maxCompressions = 64

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

/** Skips compressed assets and `no-transform` responses, such as streams that must not be delayed. */
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
