import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { ActivityParameters } from "../../domain/accounts/ActivityQuery.ts"
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
import { acceptingAllSessions, NeedsFreshSignIn } from "../Callers.ts"
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
const ofOne = [InvalidRequest, NotFound, InternalError] as const

const get = <const Name extends string, const Path extends `/${string}`>(name: Name, path: Path) =>
  HttpApiEndpoint.get(name, `/v1/operator${path}`, { success, error: InternalError })

const list = <const Name extends string, const Path extends `/${string}`, Fields extends Schema.Struct.Fields>(
  name: Name,
  path: Path,
  fields: Fields
) =>
  HttpApiEndpoint.get(name, `/v1/operator${path}`, {
    query: Schema.Struct(fields),
    success,
    error: [InvalidRequest, InternalError]
  }).middleware(RequestDecoding)

/** Endpoints that customers have too, with the same parameters. */
const ofCustomer = <const Name extends string, Query extends Schema.Top, Success extends Schema.Top>(
  name: Name,
  query: Query,
  success: Success
) =>
  HttpApiEndpoint.get(name, `/v1/operator/customers/:id/${name}`, {
    params: id,
    query,
    success,
    error: ofOne
  }).middleware(RequestDecoding)

/** The reads of operators and observers. */
export class ReadsGroup extends HttpApiGroup.make("reads")
  .add(
    list("now", "/now", { since: momentParameter("Only minutes from this time on") }),
    list("customers", "/customers", {
      text: text("Part of an email address or name, or the start of an account's ID, of a key or of its name"),
      plan: oneOf(plans),
      suspended: oneOf(["true", "false"]),
      after: text("The last account of the previous page"),
      limit
    }),
    HttpApiEndpoint.get("customer", "/v1/operator/customers/:id", {
      params: id,
      success,
      error: [NotFound, InternalError]
    }),
    ofCustomer("log", HistoryParameters, QueryHistory),
    ofCustomer("activity", ActivityParameters, AccountEvents),
    ofCustomer("usage", UsageParameters, Usage),
    list("top", "/usage/top", {
      by: oneOf(usageGroups),
      from: momentParameter("Start of the range, inclusive. When absent, a day before its end"),
      to: momentParameter("End of the range, exclusive. When absent, now"),
      limit
    }),
    get("engines", "/engines"),
    HttpApiEndpoint.get("request", "/v1/operator/requests/:id", { params: id, success, error: ofOne }),
    get("index", "/index"),
    get("money", "/money"),
    list("audit", "/audit", {
      operator: text("Only commands by this operator"),
      command: text("Only this command"),
      subject: text("Only commands about this account or key"),
      from: momentParameter("Start of the range, inclusive"),
      to: momentParameter("End of the range, exclusive"),
      before: number(Number.MAX_SAFE_INTEGER, "The last entry of the previous page."),
      limit
    }),
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
  .pipe(acceptingAllSessions)
  .middleware(OperatorGate) {}
