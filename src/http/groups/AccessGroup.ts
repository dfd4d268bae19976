import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AccountChoice } from "../../domain/accounts/MemberRequest.ts"
import { everyRole, Role } from "../../domain/accounts/Role.ts"
import { acceptingSessions } from "../Callers.ts"
import { InternalError, NotFound } from "../errors.ts"
import { Gates, RequestDecoding } from "../Gates.ts"
import { Moment } from "../timestamps.ts"

export const Session = Schema.Struct({
  id: Schema.String,
  created_at: Moment.pipe(Schema.annotateEncoded({ description: "When the person signed in" })),
  extended_at: Moment.pipe(Schema.annotateEncoded({ description: "Last use, to the day" })),
  expires_at: Moment.pipe(Schema.annotateEncoded({ description: "When it expires if it is not used" })),
  user_agent: Schema.NullOr(Schema.String).annotate({ description: "The browser's User-Agent header" }),
  is_current: Schema.Boolean.annotate({ description: "True for the session that sent this request" })
}).annotate({ identifier: "Session" })

export const Sessions = Schema.Struct({ sessions: Schema.Array(Session) }).annotate({ identifier: "Sessions" })

export const ConnectedApp = Schema.Struct({
  id: Schema.String,
  name: Schema.NullOr(Schema.String).annotate({
    description: "The name that the app chose for itself; null if it has none"
  }),
  verified_host: Schema.NullOr(Schema.String).annotate({
    description: "The host that publishes the app's metadata document; null if the app registered itself"
  }),
  daily_credits: Schema.NullOr(Schema.Int).annotate({
    description: "The credits that the app may spend each UTC day; null if only the account limits it"
  }),
  connected_at: Moment.pipe(Schema.annotateEncoded({ description: "When the person allowed the app" })),
  renewed_at: Moment.pipe(Schema.annotateEncoded({ description: "Last use, to the hour" }))
}).annotate({ identifier: "ConnectedApp" })

export const ConnectedApps = Schema.Struct({ apps: Schema.Array(ConnectedApp) }).annotate({
  identifier: "ConnectedApps"
})

/** Accepts any string: an unknown ID is `not_found`, not `invalid_request`. */
const idOf = (resource: string) => Schema.String.annotate({ description: `The ID of the ${resource}.` })

export const SessionAccounts = Schema.Struct({
  email: Schema.String.annotate({ description: "The address that the person signs in with" }),
  accounts: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      email: Schema.String.annotate({ description: "The account's email address" }),
      role: Role.annotate({ identifier: undefined }),
      member_id: Schema.String.annotate({ description: "The person's own ID among the members" }),
      is_current: Schema.Boolean.annotate({ description: "True for the account that this session uses" })
    })
  )
}).annotate({ identifier: "SessionAccounts" })

export class AccessGroup extends HttpApiGroup.make("access")
  .add(
    HttpApiEndpoint.get("sessions", "/v1/sessions", { success: Sessions, error: InternalError }).annotateMerge(
      OpenApi.annotations({
        identifier: "listSessions",
        summary: "Open sessions",
        description: "The browsers where the person is signed in, newest first, at most 100."
      })
    ),
    HttpApiEndpoint.delete("endSession", "/v1/sessions/:session_id", {
      params: { session_id: idOf("session") },
      success: HttpApiSchema.NoContent,
      error: [NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "endSession",
        summary: "End a session",
        description: "Ends the session immediately. Apps connected during the session stay connected."
      })
    ),
    HttpApiEndpoint.get("apps", "/v1/apps", { success: ConnectedApps, error: InternalError }).annotateMerge(
      OpenApi.annotations({
        identifier: "listApps",
        summary: "Connected apps",
        description: "The apps that can act for the person, newest first, at most 100."
      })
    ),
    HttpApiEndpoint.delete("endApp", "/v1/apps/:app_id", {
      params: { app_id: idOf("app") },
      success: HttpApiSchema.NoContent,
      error: [NotFound, InternalError]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "disconnectApp",
        summary: "Disconnect an app",
        description: "Revokes the app's tokens immediately. The person must allow the app again to reconnect it."
      })
    ),
    HttpApiEndpoint.get("accounts", "/v1/session/account", {
      success: SessionAccounts,
      error: InternalError
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "listSessionAccounts",
        summary: "The person's accounts",
        description:
          "Lists the accounts of the signed-in person. `is_current` marks the account that this session uses."
      })
    ),
    HttpApiEndpoint.post("enter", "/v1/session/account", {
      payload: AccountChoice,
      success: HttpApiSchema.NoContent,
      error: [NotFound, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "useAccount",
          summary: "Use another account",
          description: "The session uses the account from then on. Other sessions and apps keep theirs."
        })
      )
  )
  .pipe(
    acceptingSessions({
      sessions: everyRole,
      endSession: everyRole,
      apps: everyRole,
      endApp: everyRole,
      accounts: everyRole,
      enter: everyRole
    })
  )
  .middleware(Gates)
  .annotateMerge(
    OpenApi.annotations({
      title: "Access",
      description: "Where the person is signed in, and the apps that act for them"
    })
  ) {}
