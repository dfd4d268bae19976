import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { builders } from "../../domain/accounts/Role.ts"
import { accepting, acceptingSessions, SpendsCredits } from "../Callers.ts"
import { InternalError, InvalidRequest } from "../errors.ts"
import { Gates } from "../Gates.ts"

const version = Schema.Literal("2.0")
const Id = Schema.Union([Schema.String, Schema.Int])
const Members = Schema.Record(Schema.String, Schema.Unknown)

const Message = Schema.Struct({
  jsonrpc: version,
  id: Schema.optionalKey(Id).annotateKey({ description: "Absent in a notification" }),
  method: Schema.String,
  params: Schema.optionalKey(Members)
}).annotate({ identifier: "McpMessage", description: "A JSON-RPC 2.0 message of the Model Context Protocol" })

const Failure = Schema.Struct({ code: Schema.Int, message: Schema.String, data: Schema.optionalKey(Schema.Unknown) })

const Answer = Schema.Struct({
  jsonrpc: version,
  id: Id,
  result: Schema.optionalKey(Members),
  error: Schema.optionalKey(Failure)
}).annotate({ identifier: "McpAnswer", description: "The JSON-RPC response to a request" })

const JsonRpcError = Schema.Struct({ jsonrpc: version, id: Schema.Null, error: Failure }).annotate({
  identifier: "JsonRpcError",
  description: "The request is not a valid message of the protocol"
})

/** The MCP endpoint. GET and DELETE return 405: no stream or session outlives a request (R35). */
export class McpGroup extends HttpApiGroup.make("mcp")
  .add(
    HttpApiEndpoint.post("mcp", "/mcp", {
      payload: Message,
      success: [Answer, HttpApiSchema.Accepted],
      error: [
        InvalidRequest,
        JsonRpcError.pipe(HttpApiSchema.status(400)),
        JsonRpcError.pipe(HttpApiSchema.status(403)),
        InternalError
      ]
    }).annotateMerge(
      OpenApi.annotations({
        identifier: "mcp",
        summary: "The endpoint for MCP clients",
        description:
          "Model Context Protocol over streamable HTTP, stateless, versions 2026-07-28 and earlier, with the " +
          "tools web_search, bulk_search and account. Use /mcp?tools= to select tools; the search tool is available only that way. " +
          "The response is JSON, or an event stream if Accept prefers text/event-stream or a bulk_search call asks for progress. " +
          "A failed tool call is a result " +
          "with isError and the error envelope. Notifications return 202. Browser pages of another origin get 403, and so do apps that call a tool which the " +
          "person did not allow them, with the scopes to ask for in WWW-Authenticate. GET " +
          "and DELETE return 405 with Allow: POST, because there is no stream to listen to and no session to end."
      })
    )
  )
  .annotateEndpointsMerge(accepting("key", "oauth"))
  .pipe(acceptingSessions({ mcp: builders }))
  .annotateEndpoints(SpendsCredits, true)
  .middleware(Gates)
  .annotateMerge(OpenApi.annotations({ title: "MCP", description: "Search for agents" })) {}
