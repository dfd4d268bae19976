import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import type { CompatShape } from "../../domain/CompatShape.ts"
import { Deployment } from "../../services/Deployment.ts"
import { describeApi } from "../Api.ts"
import { Compat } from "../compat/Compat.ts"
import { documentAt } from "../openapi.ts"
import { assetResponse, fingerprint, immutableHeaders, revalidationHeaders } from "./assets.ts"
import type { Document } from "./document.ts"
import { pageOf } from "./page.ts"
import { style } from "./style.ts"

/** Routes of the API reference: `/docs` for people and `/openapi.json` for programs. Both are made at start. */

/** Headers that forbid the page everything but its own stylesheet: scripts, frames, forms and other origins. */
const pageHeaders = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer"
}

const stylePath = `/docs/style-${fingerprint(style)}.css` as const

/** Loaded where it is needed, so that a start without such endpoints does not wait for their definitions. */
const describeWith = (shapes: ReadonlyArray<CompatShape>) =>
  Effect.map(
    Effect.promise(() => import("../compat/document.ts")),
    ({ describeApiWith }) => describeApiWith(shapes)
  )

export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { origin } = yield* Deployment
    const { shapes } = yield* Compat
    const described = shapes.length === 0 ? describeApi() : yield* describeWith(shapes)
    const document = documentAt({ ...described }, origin)
    // The API's own document has these parts; tests read the page and hold the document to the service.
    const page = pageOf(document as unknown as Document, stylePath)
    return Layer.mergeAll(
      HttpRouter.add(
        "GET",
        "/docs",
        assetResponse({
          text: page,
          contentType: "text/html; charset=utf-8",
          headers: { ...revalidationHeaders, ...pageHeaders }
        })
      ),
      HttpRouter.add(
        "GET",
        stylePath,
        assetResponse({ text: style, contentType: "text/css; charset=utf-8", headers: immutableHeaders })
      ),
      HttpRouter.add(
        "GET",
        "/openapi.json",
        assetResponse({ text: JSON.stringify(document), contentType: "application/json", headers: revalidationHeaders })
      )
    )
  })
)
