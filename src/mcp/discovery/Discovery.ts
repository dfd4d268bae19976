import { readFileSync } from "node:fs"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Deployment } from "../../services/operations/Deployment.ts"
import { revisions } from "../revisions.ts"
import { cardType, catalog, discoveryPaths, registryEntry, serverCard } from "./documents.ts"

/** Browsers may read the documents from any page, as the discovery drafts require. */
const headers = { "access-control-allow-origin": "*", "cache-control": "public, max-age=3600" }

const json = (document: object, contentType = "application/json") =>
  HttpServerResponse.text(JSON.stringify(document), { contentType, headers })

const icon = readFileSync(new URL("icon.png", import.meta.url))

export const layer = Layer.unwrap(
  Effect.map(Deployment, ({ origin }) =>
    Layer.mergeAll(
      HttpRouter.add("GET", discoveryPaths.catalog, json(catalog(origin))),
      HttpRouter.add("GET", discoveryPaths.card, json(serverCard(origin, revisions), cardType)),
      HttpRouter.add("GET", discoveryPaths.registry, json(registryEntry(origin))),
      HttpRouter.add(
        "GET",
        discoveryPaths.icon,
        HttpServerResponse.uint8Array(icon, { contentType: "image/png", headers })
      )
    )
  )
)
