import { Effect, Layer } from "effect"
import * as EventEmailsSigned from "../layers/webhooks/EventEmailsSigned.ts"
import * as WebhookClientNode from "../layers/webhooks/WebhookClientNode.ts"
import { Keyrings } from "../services/operations/Keyrings.ts"
import * as EventWork from "../services/webhooks/EventWork.ts"
import { Webhooks } from "../services/webhooks/Webhooks.ts"
import { AppConfig } from "../settings/Settings.ts"
import * as Deployment from "./Deployment.ts"
import * as SignIn from "./SignIn.ts"
import * as Storage from "./store/Storage.ts"

const client = AppConfig.layerFrom(({ webhooksAllowPrivate }) =>
  WebhookClientNode.layer({ allowsPrivate: webhooksAllowPrivate })
)

const emails = Layer.unwrap(
  Effect.map(Keyrings, ({ AUTH_SECRET }) => EventEmailsSigned.layer({ keyring: AUTH_SECRET }))
).pipe(Layer.provide([SignIn.emails, Deployment.layer]))

export const layer = Layer.merge(Webhooks.layer, EventWork.layer().pipe(Layer.provide(Storage.background))).pipe(
  Layer.provideMerge(emails),
  Layer.provide(client)
)
