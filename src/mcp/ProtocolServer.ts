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

/**
 * The one file that knows the protocol's library. Loading it takes about 100 ms and 30 MB, so that it is imported when
 * the first client comes.
 */

export interface ExchangeOptions {
  readonly info: { readonly name: string; readonly title: string; readonly version: string }
  readonly instructions: string
  readonly tools: ReadonlyArray<Tool>
  /** Undefined when there is no such tool. The signal ends when nobody waits for the answer any more. */
  readonly call: (
    name: string,
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal
  ) => Promise<CallToolResult> | undefined
  readonly events: boolean
}

export const isMessage = (value: unknown): boolean => JSONRPCMessageSchema.safeParse(value).success

/** Nothing here asks a client to fill a form, which is what the library would validate: it builds a compiler for it. */
const noValidator = {
  getValidator: (): never => {
    throw new Error("Nothing is asked of clients.")
  }
}

const capabilities: ServerCapabilities = { tools: {} }

const makeServer = ({ call, info, instructions, tools }: ExchangeOptions): Server => {
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

const parameters = {
  initialize: InitializeRequestSchema,
  "tools/call": CallToolRequestSchema,
  "tools/list": ListToolsRequestSchema
} as const

const isKnown = (method: string): method is keyof typeof parameters => Object.hasOwn(parameters, method)

/** What is wrong with the parameters of a request. The library would say that of an internal error. */
const wrongParameters = (request: JSONRPCRequest): string | undefined => {
  if (!isKnown(request.method)) return undefined
  const parsed = parameters[request.method].safeParse(request)
  const issue = parsed.error?.issues[0]
  return issue === undefined ? undefined : `${issue.path.join(".")}: ${issue.message}`
}

/** Who declares no tasks runs a request that asks for one as any other; the library would refuse it. */
const withoutTask = (request: JSONRPCRequest): JSONRPCRequest => {
  const { task: _, ...params } = request.params ?? {}
  return { ...request, params }
}

/** Puts our own reading of messages before the library's. */
const screen = (transport: WebStandardStreamableHTTPServerTransport): void => {
  const dispatch = transport.onmessage
  transport.onmessage = (message: JSONRPCMessage, extra) => {
    if (!isJSONRPCRequest(message)) {
      // The request that it cancels is in the same batch or in another exchange: the first would never be answered.
      if (!("method" in message && message.method === "notifications/cancelled")) dispatch?.(message, extra)
      return
    }
    const wrong = wrongParameters(message)
    if (wrong === undefined) return dispatch?.(withoutTask(message), extra)
    const error = { code: ErrorCode.InvalidParams, message: `Invalid params: ${wrong}` }
    transport.send({ jsonrpc: "2.0", id: message.id, error }).catch((cause) => transport.onerror?.(cause))
  }
}

export interface Exchange {
  readonly answer: (body: unknown, revision: string | undefined) => Promise<Response>
  /** Ends what still runs. */
  readonly close: () => Promise<void>
}

/** A server for one HTTP request: nothing is shared between requests, so that any replica can answer any of them. */
export const open = async (options: ExchangeOptions): Promise<Exchange> => {
  const server = makeServer(options)
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !options.events })
  // Its optional callbacks are not declared to the letter: `undefined` is not the same as absent to the compiler.
  await server.connect(transport as Parameters<typeof server.connect>[0])
  screen(transport)
  return {
    answer: (body, revision) => {
      // Of the request's own headers only the revision is handed on: credentials have no business beyond the door. What
      // may be accepted and how the body is encoded has been decided.
      const headers = new Headers({ accept: "application/json, text/event-stream", "content-type": "application/json" })
      if (revision !== undefined) headers.set("mcp-protocol-version", revision)
      return transport.handleRequest(new Request("http://quarry.invalid/mcp", { method: "POST", headers }), {
        parsedBody: body
      })
    },
    close: () => server.close()
  }
}
