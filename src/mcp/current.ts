import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { AccountPrincipal } from "../domain/accounts/Principal.ts"
import { answerCall, writeCurrent } from "./calls.ts"
import { readCall, rpcCodes, toJsonRpcError, unknownTool } from "./message.ts"
import { currentRevision } from "./revisions.ts"
import type { StatelessRequest } from "./stateless.ts"
import { info, type Toolbox } from "./Toolbox.ts"
import { traced } from "./trace.ts"

/** Clients may cache facts about the server, which change only with its version. */
const keepFor = { ttlMs: 3_600_000, cacheScope: "public" } as const

const serverKey = "io.modelcontextprotocol/serverInfo"

const resultMeta = { [serverKey]: { name: info.name, version: info.version } }

const toDiscovery = ({ instructions, server }: Toolbox) => ({
  supportedVersions: [currentRevision],
  capabilities: { tools: {} },
  instructions,
  ...keepFor,
  resultType: "complete",
  _meta: { [serverKey]: server }
})

export const answerCurrent = (
  { client, id, method, params, progressToken }: StatelessRequest,
  toolbox: Toolbox,
  principal: AccountPrincipal,
  accept: string | undefined
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const facts = { method, revision: currentRevision, client }
  const succeed = (result: object) =>
    traced(facts, Effect.succeed(HttpServerResponse.jsonUnsafe({ result, jsonrpc: "2.0", id })))
  const fail = (code: number, message: string, status: 200 | 404 = 200) =>
    traced(facts, Effect.succeed(HttpServerResponse.jsonUnsafe(toJsonRpcError({ id, code, message }), { status })))
  switch (method) {
    case "server/discover":
      return succeed(toDiscovery(toolbox))
    case "tools/list":
      if (params.cursor !== undefined) return fail(rpcCodes.invalidParams, "Invalid params: the list has one page")
      return succeed({ tools: toolbox.definitions, ...keepFor, resultType: "complete", _meta: resultMeta })
    case "tools/call": {
      const call = readCall(params)
      if (call === undefined) {
        return fail(rpcCodes.invalidParams, "Invalid params: name must be a string, and arguments an object")
      }
      const tool = toolbox.byName.get(call.name)
      if (tool === undefined) return fail(rpcCodes.invalidParams, unknownTool(call.name))
      const write: Parameters<typeof answerCall>[0]["write"] = (end) => writeCurrent(end, id, resultMeta)
      return answerCall({ tool, args: call.args, principal, progressToken, facts, write }, accept)
    }
    default:
      return fail(rpcCodes.methodNotFound, "Method not found", 404)
  }
}
