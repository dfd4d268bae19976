import { Effect } from "effect"
import type { Answer, TestApi } from "./TestApi.ts"

/** POSTs a body to the endpoint as an MCP client does. */
export const post = (api: TestApi, headers: Record<string, string>, body: string) =>
  api.send("POST", "/mcp", {
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body
  })

/** One request of the protocol. */
export const request = (method: string, params?: unknown, id: number | string = 1): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) })

export const toolCall = (name: string, args?: unknown, id?: number): string =>
  request("tools/call", { name, arguments: args }, id)

export const initialize = (protocolVersion: string): string =>
  request("initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } })

/** The result of a tool that was called. */
export const callTool = (api: TestApi, headers: Record<string, string>, name: string, args?: unknown) =>
  Effect.map(post(api, headers, toolCall(name, args)), (answer: Answer) => answer.json.result)
