import { readFileSync } from "node:fs"
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { Compat } from "../../compat/Compat.ts"
import type { CompatShape } from "../../domain/compat/CompatShape.ts"
import { describeApi } from "../../http/Api.ts"
import { documentAt } from "../../http/openapi/completeDocument.ts"
import { Plans } from "../../services/credits/Plans.ts"
import { Deployment } from "../../services/operations/Deployment.ts"
import { NamedTargets } from "../../services/providers/NamedTargets.ts"
import { assetResponse, fingerprint, immutableHeaders, revalidationHeaders } from "../assets.ts"
import type { Document } from "./document.ts"
import { pageOf } from "./page.ts"
import { style } from "./style.ts"

const pageHeaders = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer"
}

const script = readFileSync(new URL("reference.js", import.meta.url), "utf8")

const stylePath = `/docs/style-${fingerprint(style)}.css` as const
const scriptPath = `/docs/script-${fingerprint(script)}.js` as const

/** Imported on demand, so that a start without such endpoints does not wait for their definitions. */
const describeWith = (shapes: ReadonlyArray<CompatShape>) =>
  Effect.map(
    Effect.promise(() => import("../../compat/document.ts")),
    ({ describeApiWith }) => describeApiWith(shapes)
  )

/** Runs at the first request, because it takes a fifth of a second. */
const makeResponses = Effect.gen(function* () {
  const { origin } = yield* Deployment
  const { shapes } = yield* Compat
  const described = shapes.length === 0 ? describeApi() : yield* describeWith(shapes)
  const document = documentAt({ ...described }, origin)
  // The cast: the API's own document has these parts. Tests read the page and hold the document to the service.
  const page = pageOf(
    document as unknown as Document,
    { style: stylePath, script: scriptPath },
    yield* Plans,
    yield* NamedTargets
  )
  return {
    page: assetResponse({
      text: page,
      contentType: "text/html; charset=utf-8",
      headers: { ...revalidationHeaders, ...pageHeaders }
    }),
    style: assetResponse({ text: style, contentType: "text/css; charset=utf-8", headers: immutableHeaders }),
    script: assetResponse({ text: script, contentType: "text/javascript; charset=utf-8", headers: immutableHeaders }),
    document: assetResponse({
      text: JSON.stringify(document),
      contentType: "application/json",
      headers: revalidationHeaders
    })
  }
})

export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const services = yield* Effect.context<Effect.Services<typeof makeResponses>>()
    // A client that disconnects must not interrupt the work that others wait for.
    const responses = yield* Effect.cached(Effect.uninterruptible(Effect.provide(makeResponses, services)))
    const route = (
      path: "/docs" | "/openapi.json" | typeof stylePath | typeof scriptPath,
      name: "page" | "style" | "script" | "document"
    ) =>
      HttpRouter.add(
        "GET",
        path,
        Effect.flatMap(responses, (made) => made[name])
      )
    return Layer.mergeAll(
      route("/docs", "page"),
      route(stylePath, "style"),
      route(scriptPath, "script"),
      route("/openapi.json", "document")
    )
  })
)
