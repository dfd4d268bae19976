import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { ActivityParameters } from "../../domain/accounts/ActivityQuery.ts"
import { everyRole } from "../../domain/accounts/Role.ts"
import { plans } from "../../domain/credits/Plan.ts"
import { HistoryParameters } from "../../domain/log/QueryHistory.ts"
import { UsageParameters } from "../../domain/log/Usage.ts"
import {
  asDigits,
  limitedText,
  momentParameter,
  wholeNumber,
  wholeNumberMessage
} from "../../domain/requests/fields.ts"
import { targets } from "../../domain/search/Target.ts"
import { usageGroups } from "../../services/operations/OperatorLog.ts"
import { acceptingSessions, NeedsFreshSignIn } from "../Callers.ts"
import { InternalError, InvalidRequest, NotFound } from "../errors.ts"
import { RequestDecoding } from "../Gates.ts"
import { AccountEvents } from "../groups/AccountGroup.ts"
import { QueryHistory, Usage } from "../groups/UsageGroup.ts"
import { OperatorGate } from "./OperatorGate.ts"

const maxListed = 200

const text = (description: string) => Schema.optionalKey(limitedText(320, { description }))

const number = (maximum: number, description: string) =>
  Schema.optionalKey(asDigits(wholeNumber(maximum, { description }), wholeNumberMessage(maximum)))

const oneOf = <const A extends string>(values: ReadonlyArray<A>) =>
  Schema.optionalKey(Schema.Literals(values).annotate({ message: `must be one of ${values.join(", ")}` }))

const limit = number(maxListed, "Maximum number of entries to return.")

/** The handlers make the JSON. `reads.ts` exports its types. */
const success = Schema.Unknown

const id = { id: Schema.String }

const get = <const Name extends string, const Path extends `/${string}`>(name: Name, path: Path) =>
  HttpApiEndpoint.get(name, `/v1/operator${path}`, { success, error: InternalError })

/** The reads of operators and observers. */
export class ReadsGroup extends HttpApiGroup.make("reads")
  .add(
    HttpApiEndpoint.get("now", "/v1/operator/now", {
      query: Schema.Struct({ since: momentParameter("Only minutes from this time on") }),
      success,
      error: [InvalidRequest, InternalError]
    }).middleware(RequestDecoding),
    HttpApiEndpoint.get("customers", "/v1/operator/customers", {
      query: Schema.Struct({
        text: text("Part of an email address or name, or the start of an account's ID, of a key or of its name"),
        plan: oneOf(plans),
        suspended: oneOf(["true", "false"]),
        after: text("The last account of the previous page"),
        limit
      }),
      success,
      error: [InvalidRequest, InternalError]
    }).middleware(RequestDecoding),
    HttpApiEndpoint.get("customer", "/v1/operator/customers/:id", {
      params: id,
      success,
      error: [NotFound, InternalError]
    }),
    HttpApiEndpoint.get("log", "/v1/operator/customers/:id/log", {
      params: id,
      query: HistoryParameters,
      success: QueryHistory,
      error: [InvalidRequest, NotFound, InternalError]
    }).middleware(RequestDecoding),
    HttpApiEndpoint.get("activity", "/v1/operator/customers/:id/activity", {
      params: id,
      query: ActivityParameters,
      success: AccountEvents,
      error: [InvalidRequest, NotFound, InternalError]
    }).middleware(RequestDecoding),
    HttpApiEndpoint.get("usage", "/v1/operator/customers/:id/usage", {
      params: id,
      query: UsageParameters,
      success: Usage,
      error: [InvalidRequest, NotFound, InternalError]
    }).middleware(RequestDecoding),
    HttpApiEndpoint.get("top", "/v1/operator/usage/top", {
      query: Schema.Struct({
        by: oneOf(usageGroups),
        from: momentParameter("Start of the range, inclusive. When absent, a day before its end"),
        to: momentParameter("End of the range, exclusive. When absent, now"),
        limit
      }),
      success,
      error: [InvalidRequest, InternalError]
    }).middleware(RequestDecoding),
    get("engines", "/engines"),
    HttpApiEndpoint.get("request", "/v1/operator/requests/:id", {
      params: id,
      success,
      error: [InvalidRequest, NotFound, InternalError]
    }),
    get("index", "/index"),
    get("money", "/money"),
    HttpApiEndpoint.get("audit", "/v1/operator/audit", {
      query: Schema.Struct({
        operator: text("Only commands by this operator"),
        command: text("Only this command"),
        subject: text("Only commands about this account or key"),
        from: momentParameter("Start of the range, inclusive"),
        to: momentParameter("End of the range, exclusive"),
        before: number(Number.MAX_SAFE_INTEGER, "The last entry of the previous page."),
        limit
      }),
      success,
      error: [InvalidRequest, InternalError]
    }).middleware(RequestDecoding),
    get("settings", "/settings"),
    HttpApiEndpoint.post("load", "/v1/operator/index/documents", {
      query: Schema.Struct({
        target: oneOf(targets),
        replace: oneOf(["true", "false"]),
        yes: oneOf(["true", "false"])
      }),
      success,
      error: [InvalidRequest, InternalError]
    })
      .annotate(NeedsFreshSignIn, true)
      .middleware(RequestDecoding)
  )
  .pipe(
    acceptingSessions({
      now: everyRole,
      customers: everyRole,
      customer: everyRole,
      log: everyRole,
      activity: everyRole,
      usage: everyRole,
      top: everyRole,
      engines: everyRole,
      request: everyRole,
      index: everyRole,
      money: everyRole,
      audit: everyRole,
      settings: everyRole,
      load: everyRole
    })
  )
  .middleware(OperatorGate) {}
