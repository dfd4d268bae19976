import { Effect } from "effect"
import type { Answer, TestApi } from "./TestApi.ts"

/** POSTs a body like an MCP client. */
export const post = (api: TestApi, headers: Record<string, string>, body: string) =>
  api.send("POST", "/mcp", {
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body
  })

export const request = (method: string, params?: unknown, id: number | string = 1): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) })

export const toolCall = (name: string, args?: unknown, id?: number): string =>
  request("tools/call", { name, arguments: args }, id)

export const initialize = (protocolVersion: string): string =>
  request("initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } })

/** Calls a tool and returns its result. */
export const callTool = (api: TestApi, headers: Record<string, string>, name: string, args?: unknown) =>
  Effect.map(post(api, headers, toolCall(name, args)), (answer: Answer) => answer.json.result)

/** Metadata of requests in the current protocol revision. */
export const currentMeta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {}
}

/** A request in the current protocol revision: its body, and the headers that repeat parts of it. */
export const currentRequest = (
  method: string,
  params: { readonly name?: unknown; readonly [member: string]: unknown } = {},
  id: number | string = 1
) => ({
  body: request(method, { _meta: currentMeta, ...params }, id),
  headers: {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(typeof params.name === "string" ? { "mcp-name": params.name } : {})
  }
})

export const currentCall = (name: string, args?: unknown, meta: object = {}) =>
  currentRequest("tools/call", { name, arguments: args, _meta: { ...currentMeta, ...meta } })
