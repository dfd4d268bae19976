import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { operatorRoles } from "../../domain/operations/OperatorRole.ts"
import { acceptingAllSessions } from "../Callers.ts"
import {
  Forbidden,
  FreshSignInRequired,
  InternalError,
  InvalidRequest,
  LastOwner,
  NotFound,
  RateLimited
} from "../errors.ts"
import { RequestDecoding } from "../Gates.ts"
import { OperatorGate } from "./OperatorGate.ts"
import { ReadsGroup } from "./ReadsGroup.ts"

const Me = Schema.Struct({
  email: Schema.String,
  role: Schema.Literals(operatorRoles),
  is_fresh: Schema.Boolean
})

export class ActsGroup extends HttpApiGroup.make("acts")
  .add(
    HttpApiEndpoint.get("me", "/v1/operator/me", { success: Me, error: InternalError }),
    HttpApiEndpoint.post("act", "/v1/operator/acts", {
      // The handler decodes it, because the fields depend on the command.
      payload: Schema.Record(Schema.String, Schema.Json),
      success: Schema.Record(Schema.String, Schema.Unknown),
      error: [InvalidRequest, NotFound, Forbidden, FreshSignInRequired, LastOwner, RateLimited, InternalError]
    }).middleware(RequestDecoding)
  )
  .pipe(acceptingAllSessions)
  .middleware(OperatorGate) {}

/** Apart from `Api`, so that openapi.json and clients do not have it. Served if `OPERATOR_CONSOLE` is on. */
export class OperatorApi extends HttpApi.make("operator").add(ActsGroup, ReadsGroup) {}
