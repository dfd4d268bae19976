import { Context, Effect, Layer } from "effect"
import { HttpIncomingMessage } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import * as compat from "../compat/enabled.ts"
import * as JinaAddress from "../compat/jinaAddress.ts"
import { alwaysServed, servedWithPages } from "../http/Api.ts"
import * as access from "../http/handlers/access.ts"
import * as account from "../http/handlers/account.ts"
import * as auth from "../http/handlers/auth.ts"
import * as billing from "../http/handlers/billing.ts"
import * as deliveries from "../http/handlers/deliveries.ts"
import * as keys from "../http/handlers/keys.ts"
import * as members from "../http/handlers/members.ts"
import * as pages from "../http/handlers/pages.ts"
import * as search from "../http/handlers/search.ts"
import * as usage from "../http/handlers/usage.ts"
import * as webhooks from "../http/handlers/webhooks.ts"
import * as Compression from "../http/middleware/Compression.ts"
import * as Cors from "../http/middleware/Cors.ts"
import * as Edge from "../http/middleware/Edge.ts"
import * as Gates from "../http/middleware/gates.ts"
import * as RequestDecoding from "../http/middleware/RequestDecoding.ts"
import { maxBodyBytes } from "../http/requests/body.ts"
import * as Discovery from "../mcp/discovery/Discovery.ts"
import * as mcp from "../mcp/Endpoint.ts"
import { PageSettings } from "../services/pages/PageSettings.ts"
import * as Docs from "../site/docs/Docs.ts"
import * as Site from "../site/Site.ts"
import * as signIn from "../site/signIn/routes.ts"
import * as unsubscribe from "../site/unsubscribe.ts"

/** Other spellings of a path are not found (R3). */
export const routerConfig = { ignoreTrailingSlash: false, ignoreDuplicateSlashes: false, caseSensitive: true }

const gated = Layer.provide([Gates.layer, RequestDecoding.layer])

const api = HttpApiBuilder.layer(alwaysServed).pipe(
  Layer.provide(
    Layer.mergeAll(
      search.layer,
      account.layer,
      usage.layer,
      keys.layer,
      access.layer,
      members.layer,
      billing.layer,
      webhooks.layer,
      mcp.layer
    )
  ),
  gated
)

const pagesApi = Layer.unwrap(
  Effect.map(PageSettings, ({ isOn }) =>
    isOn ? HttpApiBuilder.layer(servedWithPages).pipe(Layer.provide(pages.layer), gated) : Layer.empty
  )
)

/** The routes of the operator's console, which exist only if it is on. */
export const OperatorRoutes = Context.Reference<typeof api>("quarry/references/OperatorRoutes", {
  defaultValue: () => Layer.empty
})

const operatorRoutes = Layer.unwrap(Effect.map(OperatorRoutes, (routes) => routes))

export const service = Layer.mergeAll(
  api,
  pagesApi,
  operatorRoutes,
  mcp.otherMethods,
  Site.layer,
  Discovery.layer,
  auth.layer,
  signIn.layer,
  deliveries.layer,
  compat.layer,
  unsubscribe.layer,
  JinaAddress.layer,
  Cors.layer,
  Compression.layer,
  Edge.layer
).pipe(Layer.provide(Layer.succeed(HttpIncomingMessage.MaxBodySize, maxBodyBytes)))

/** The API reference is separate because it takes longest to build. */
export const layer = Layer.merge(service, Docs.layer)
