import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { accepting } from "../Callers.ts"
import { InternalError, NotFound } from "../errors.ts"
import { Authentication, RateLimiting } from "../Middleware.ts"
import { Moment } from "../wire.ts"

export const Session = Schema.Struct({
  id: Schema.String,
  created_at: Moment.pipe(Schema.annotateEncoded({ description: "The sign-in" })),
  extended_at: Moment.pipe(Schema.annotateEncoded({ description: "Its last use, to the day" })),
  expires_at: Moment.pipe(Schema.annotateEncoded({ description: "When it ends unless it is used" })),
  user_agent: Schema.NullOr(Schema.String).annotate({ description: "What the browser says of itself" }),
  is_current: Schema.Boolean.annotate({ description: "The session that asks" })
}).annotate({ identifier: "Session" })

export const Sessions = Schema.Struct({ sessions: Schema.Array(Session) }).annotate({ identifier: "Sessions" })

export const ConnectedApp = Schema.Struct({
  id: Schema.String,
  name: Schema.NullOr(Schema.String).annotate({ description: "Chosen by the app itself; null when it chose none" }),
  connected_at: Moment.pipe(Schema.annotateEncoded({ description: "When the person let it in" })),
  renewed_at: Moment.pipe(Schema.annotateEncoded({ description: "Its last use, to the hour" }))
}).annotate({ identifier: "ConnectedApp" })

export const ConnectedApps = Schema.Struct({ apps: Schema.Array(ConnectedApp) }).annotate({
  identifier: "ConnectedApps"
})

/** Any text is taken where an id is looked up, because an unknown id is `not_found`. */
const idOf = (what: string) => Schema.String.annotate({ description: `The id of the ${what}.` })

export class AccessGroup extends HttpApiGroup.make("access")
  .add(
    HttpApiEndpoint.get("sessions", "/v1/sessions", { success: Sessions, error: InternalError }).annotateMerge(
      OpenApi.annotations({
        identifier: "listSessions",
        summary: "Open sessions",
        description: "The browsers in which the person is signed in, the latest first, at most 100."
      })
    )
  )
  .add(
    HttpApiEndpoint.delete("endSession", "/v1/sessions/:session_id", {
      params: { session_id: idOf("session") },
      success: HttpApiSchema.NoContent,
      error: [NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "endSession",
        summary: "End a session",
        description: "It ends at once. Apps that were connected with it stay connected."
      })
    )
  )
  .add(
    HttpApiEndpoint.get("apps", "/v1/apps", { success: ConnectedApps, error: InternalError }).annotateMerge(
      OpenApi.annotations({
        identifier: "listApps",
        summary: "Connected apps",
        description: "The apps that the person let in and that can still act for them, the latest first, at most 100."
      })
    )
  )
  .add(
    HttpApiEndpoint.delete("endApp", "/v1/apps/:app_id", {
      params: { app_id: idOf("app") },
      success: HttpApiSchema.NoContent,
      error: [NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "disconnectApp",
        summary: "Disconnect an app",
        description: "Its tokens end at once. To come back it has to be let in again."
      })
    )
  )
  .annotateEndpointsMerge(accepting("session"))
  .middleware(RateLimiting)
  .middleware(Authentication)
  .annotateMerge(
    OpenApi.annotations({
      title: "Access",
      description: "Where the person is signed in, and the apps that act for them"
    })
  ) {}
