import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  InitializeRequestSchema,
  isJSONRPCRequest,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type JSONRPCRequest,
  ListToolsRequestSchema,
  McpError,
  type ServerCapabilities,
  type Tool
} from "@modelcontextprotocol/sdk/types.js"
import { maxIssueCharacters } from "../domain/errors.ts"
import { abbreviate } from "../domain/text.ts"

/**
 * The only module that imports the protocol's library. Loading it takes about 100 ms and 30 MB, so that the endpoint
 * imports it with the first request.
 */

export interface ProtocolOptions {
  readonly info: { readonly name: string; readonly title: string; readonly version: string }
  readonly instructions: string
  readonly tools: ReadonlyArray<Tool>
  /** Calls a tool; undefined where there is none of this name. The signal aborts when the client has left. */
  readonly call: (
    name: string,
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal
  ) => Promise<CallToolResult> | undefined
  /** Answers with an event stream instead of JSON. */
  readonly events: boolean
}

export const isMessage = (value: unknown): boolean => JSONRPCMessageSchema.safeParse(value).success

/** Replaces the library's JSON schema compiler, which is slow to make. Only elicitation uses it, and no tool elicits. */
const noValidator = {
  getValidator: (): never => {
    throw new Error("Elicitation is not supported.")
  }
}

const capabilities: ServerCapabilities = { tools: {} }

const makeServer = ({ call, info, instructions, tools }: ProtocolOptions): Server => {
  const server = new Server(info, { capabilities, instructions, jsonSchemaValidator: noValidator })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools] }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
    const result = call(params.name, params.arguments ?? {}, signal)
    if (result === undefined) {
      throw new McpError(ErrorCode.InvalidParams, `There is no tool ${JSON.stringify(params.name.slice(0, 64))}`)
    }
    return result
  })
  return server
}

const requestSchemas = {
  initialize: InitializeRequestSchema,
  "tools/call": CallToolRequestSchema,
  "tools/list": ListToolsRequestSchema
} as const

const hasSchema = (method: string): method is keyof typeof requestSchemas => Object.hasOwn(requestSchemas, method)

/** The first invalid parameter of a request. The library would answer with an internal error instead. */
const parameterIssue = (request: JSONRPCRequest): string | undefined => {
  if (!hasSchema(request.method)) return undefined
  const parsed = requestSchemas[request.method].safeParse(request)
  const issue = parsed.error?.issues[0]
  if (issue === undefined) return undefined
  return abbreviate(`${issue.path.join(".")}: ${issue.message}`, maxIssueCharacters)
}

/** Removes the `task` of a request, so that it runs as any other: the library fails it where tasks are not declared. */
const withoutTask = (request: JSONRPCRequest): JSONRPCRequest => {
  const { task: _, ...params } = request.params ?? {}
  return { ...request, params }
}

/** Validates messages before the library handles them. */
const validateMessages = (transport: WebStandardStreamableHTTPServerTransport): void => {
  const dispatch = transport.onmessage
  transport.onmessage = (message: JSONRPCMessage, extra) => {
    if (!isJSONRPCRequest(message)) {
      // A cancellation is dropped. It could only reach a request of its own batch, which then would never be answered.
      if (!("method" in message && message.method === "notifications/cancelled")) dispatch?.(message, extra)
      return
    }
    const issue = parameterIssue(message)
    if (issue === undefined) return dispatch?.(withoutTask(message), extra)
    const error = { code: ErrorCode.InvalidParams, message: `Invalid params: ${issue}` }
    transport.send({ jsonrpc: "2.0", id: message.id, error }).catch((cause) => transport.onerror?.(cause))
  }
}

export interface ProtocolServer {
  readonly handle: (body: unknown, revision: string | undefined) => Promise<Response>
  /** Aborts the calls that still run. */
  readonly close: () => Promise<void>
}

/** Opens a server for one HTTP request. Requests share no state, so that any replica can answer each of them. */
export const open = async (options: ProtocolOptions): Promise<ProtocolServer> => {
  const server = makeServer(options)
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !options.events })
  // The cast: the class declares its optional callbacks as `| undefined`, which `exactOptionalPropertyTypes` rejects.
  await server.connect(transport as Parameters<typeof server.connect>[0])
  validateMessages(transport)
  return {
    handle: (body, revision) => {
      // Only the revision is passed on. The library needs no credentials, and `Accept` and `Content-Type` were checked.
      const headers = new Headers({ accept: "application/json, text/event-stream", "content-type": "application/json" })
      if (revision !== undefined) headers.set("mcp-protocol-version", revision)
      return transport.handleRequest(new Request("http://quarry.invalid/mcp", { method: "POST", headers }), {
        parsedBody: body
      })
    },
    close: () => server.close()
  }
}
