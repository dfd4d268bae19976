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
import { unknownTool } from "./message.ts"

// Serves earlier revisions. Imported on first use only, because loading the library takes 100 ms and 30 MB.

export interface ProtocolOptions {
  readonly info: { readonly name: string; readonly title: string; readonly version: string }
  readonly instructions: string
  readonly tools: ReadonlyArray<Tool>
  /** Undefined if no tool has this name. The signal aborts when the client disconnects. */
  readonly call: (
    name: string,
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal
  ) => Promise<CallToolResult> | undefined
  readonly events: boolean
}

export const isMessage = (value: unknown): boolean => JSONRPCMessageSchema.safeParse(value).success

/** The library's own validator is slow to build, and only elicitation uses it. */
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
      throw new McpError(ErrorCode.InvalidParams, unknownTool(params.name))
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

/** The library would answer an invalid parameter with an internal error. */
const parameterIssue = (request: JSONRPCRequest): string | undefined => {
  if (!hasSchema(request.method)) return undefined
  const parsed = requestSchemas[request.method].safeParse(request)
  const issue = parsed.error?.issues[0]
  if (issue === undefined) return undefined
  return abbreviate(`${issue.path.join(".")}: ${issue.message}`, maxIssueCharacters)
}

/** Without `task`, the request runs normally. The library would fail it otherwise. */
const withoutTask = (request: JSONRPCRequest): JSONRPCRequest => {
  const { task: _, ...params } = request.params ?? {}
  return { ...request, params }
}

const validateMessages = (transport: WebStandardStreamableHTTPServerTransport): void => {
  const dispatch = transport.onmessage
  transport.onmessage = (message: JSONRPCMessage, extra) => {
    if (!isJSONRPCRequest(message)) {
      // Drops cancellations: one could only reach a request of its own batch, which would then never be answered.
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
  readonly close: () => Promise<void>
}

/** Opens a server for one HTTP request. Requests share no state, so any replica can serve them. */
export const open = async (options: ProtocolOptions): Promise<ProtocolServer> => {
  const server = makeServer(options)
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !options.events })
  // The cast: the class types optional callbacks as `| undefined`, which `exactOptionalPropertyTypes` rejects.
  await server.connect(transport as Parameters<typeof server.connect>[0])
  validateMessages(transport)
  return {
    handle: (body, revision) => {
      // Passes only the revision. The other headers are already checked, and the library needs no credentials.
      const headers = new Headers({ accept: "application/json, text/event-stream", "content-type": "application/json" })
      if (revision !== undefined) headers.set("mcp-protocol-version", revision)
      return transport.handleRequest(new Request("http://quarry.invalid/mcp", { method: "POST", headers }), {
        parsedBody: body
      })
    },
    close: () => server.close()
  }
}
