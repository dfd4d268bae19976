import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { accepting, SpendsCredits } from "../Callers.ts"
import { InternalError, InvalidRequest } from "../errors.ts"
import { Authentication, RateLimiting } from "../Middleware.ts"

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
}).annotate({ identifier: "McpAnswer", description: "The JSON-RPC answer to a request" })

/** The answer to a message that JSON-RPC or the protocol's transport refuses. */
const JsonRpcError = Schema.Struct({ jsonrpc: version, id: Schema.Null, error: Failure }).annotate({
  identifier: "JsonRpcError",
  description: "What was sent is no message that the protocol allows"
})

/**
 * The Model Context Protocol over streamable HTTP, without sessions. GET and DELETE are 405 (R35), because no stream and
 * no session outlives a request.
 */
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
          "Model Context Protocol over streamable HTTP, stateless, with the tools web_search, bulk_search and account. " +
          "Answered as JSON, or as an event stream where Accept prefers text/event-stream. A failed tool call is a result " +
          "with isError and the error's envelope. 202 answers notifications; 403 a browser's page of another origin. GET " +
          "and DELETE are answered 405 with Allow: POST: there is no stream to listen to and no session to end."
      })
    )
  )
  .annotateEndpointsMerge(accepting("key", "oauth", "session"))
  .annotateEndpoints(SpendsCredits, true)
  .middleware(RateLimiting)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "MCP", description: "Search for agents" })) {}
