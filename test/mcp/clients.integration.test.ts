import { assert, describe, it } from "@effect/vitest"
import * as Latest from "@modelcontextprotocol/client"
import * as Earlier from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Effect, Layer } from "effect"
import { PageFetcher } from "../../src/services/pages/PageFetcher.ts"
import { PageParser } from "../../src/services/pages/PageParser.ts"
import * as Listener from "../support/api/Listener.ts"
import { aCaller, found, providing, servicesOver } from "../support/api/Services.ts"
import * as MemoryStorage from "../support/stores/MemoryStorage.ts"

/** A web of pages with one text. */
const web = Layer.merge(
  Layer.succeed(PageFetcher, {
    fetch: (url) =>
      Effect.succeed({ finalUrl: url.href, status: 200, contentType: "text/html", bytes: Buffer.from("text") })
  }),
  Layer.succeed(PageParser, {
    parse: () => {
      const none = { description: null, author: null, siteName: null, published: null, language: null }
      const page = { ...none, title: "A page", mediaType: "text/html", markdown: "text", text: "text", links: [] }
      return Effect.succeed(page)
    }
  })
)

const layer = servicesOver(
  MemoryStorage.layer,
  providing(() => Effect.succeed(found(2))),
  { web }
)

/** What both generations of the official client have. */
interface AnyClient {
  onerror?: ((error: Error) => void) | undefined
  readonly close: () => Promise<void>
  readonly listTools: () => Promise<{ readonly tools: ReadonlyArray<{ readonly name: string }> }>
  readonly callTool: (
    params: { readonly name: string; readonly arguments: Record<string, unknown> },
    ...rest: ReadonlyArray<never>
  ) => Promise<unknown>
}

interface Connected {
  readonly client: AnyClient
  readonly callWithProgress: (
    name: string,
    args: Record<string, unknown>,
    onprogress: (progress: { readonly progress: number; readonly total?: number | undefined }) => void
  ) => Promise<unknown>
}

type Connect = (
  url: URL,
  options: { readonly fetch: typeof fetch; readonly requestInit: RequestInit }
) => Promise<Connected>

const info = { name: "test", version: "1" }

const latest =
  (mode: Latest.VersionNegotiationMode): Connect =>
  async (url, options) => {
    const client = new Latest.Client(info, { versionNegotiation: { mode } })
    await client.connect(new Latest.StreamableHTTPClientTransport(url, options))
    return {
      client,
      callWithProgress: (name, args, onprogress) => client.callTool({ name, arguments: args }, { onprogress })
    }
  }

const earlier: Connect = async (url, options) => {
  const client = new Earlier.Client(info)
  const transport = new StreamableHTTPClientTransport(url, options)
  // The cast: its optional members are not declared to the letter.
  await client.connect(transport as Parameters<typeof client.connect>[0])
  return {
    client,
    callWithProgress: (name, args, onprogress) => client.callTool({ name, arguments: args }, undefined, { onprogress })
  }
}

/** Each client, the requests that it sends to connect, and the revision that it then names. */
const clients: ReadonlyArray<readonly [string, Connect, ReadonlyArray<string>, string]> = [
  ["1.x", earlier, ["initialize", "notifications/initialized", "GET"], "2025-11-25"],
  ["2.x, legacy", latest("legacy"), ["initialize", "notifications/initialized", "GET"], "2025-11-25"],
  ["2.x, automatic", latest("auto"), ["server/discover"], "2026-07-28"],
  ["2.x, pinned", latest({ pin: "2026-07-28" }), ["server/discover"], "2026-07-28"]
]

describe("the official client", () => {
  for (const [name, connect, expected, revision] of clients) {
    it.live(`${name} connects by ${expected.join(", ")}, lists the tools and calls each`, () =>
      Effect.gen(function* () {
        const port = yield* Listener.startOverServices
        const { auth } = yield* aCaller({ plan: "trial" })
        const sent: Array<string> = []
        let named: string | undefined | null
        const recording = ((url: URL, init?: RequestInit) => {
          const body = typeof init?.body === "string" ? JSON.parse(init.body) : undefined
          sent.push(body?.method ?? init?.method ?? "GET")
          named = new Headers(init?.headers).get("mcp-protocol-version")
          return fetch(url, init)
        }) as typeof fetch
        const options = { fetch: recording, requestInit: { headers: auth } }
        yield* Effect.promise(async () => {
          const { callWithProgress, client } = await connect(new URL(`http://127.0.0.1:${port}/mcp`), options)
          const complaints: Array<string> = []
          client.onerror = (error) => void complaints.push(error.message)
          // The stream that earlier clients ask for is asked for beside their work.
          while (sent.length < expected.length) await new Promise(setImmediate)
          assert.sameMembers([...sent], [...expected])

          const { tools } = await client.listTools()
          const names = tools.map((tool) => tool.name)
          assert.deepStrictEqual(names, ["web_search", "bulk_search", "read_page", "account"])
          const { structuredContent } = (await client.callTool({
            name: "web_search",
            arguments: { query: "css grid" }
          })) as { structuredContent: { query: string } }
          assert.strictEqual(structuredContent.query, "css grid")
          await client.callTool({ name: "account", arguments: {} })
          const url = "https://example.com/"
          const page = await client.callTool({ name: "read_page", arguments: { url } })
          assert.include(JSON.stringify(page), '"content":"text"')
          const failed = await client.callTool({ name: "web_search", arguments: { query: "" } })
          assert.isTrue((failed as { isError: boolean }).isError)
          assert.strictEqual(named, revision)

          const steps: Array<readonly [number, number | undefined]> = []
          const queries = ["a", "b", "c"]
          const batch = await callWithProgress("bulk_search", { queries }, ({ progress, total }) => {
            steps.push([progress, total])
          })
          assert.strictEqual((batch as { structuredContent: { succeeded: number } }).structuredContent.succeeded, 3)
          assert.deepStrictEqual(steps, [
            [1, 3],
            [2, 3],
            [3, 3]
          ])
          await client.close()
          assert.deepStrictEqual(complaints, [])

          const chosen = await connect(new URL(`http://127.0.0.1:${port}/mcp?tools=search,fetch`), options)
          const searched = await chosen.client.callTool({ name: "search", arguments: { query: "css grid" } })
          const [first] = (searched as { structuredContent: { results: ReadonlyArray<{ id: string }> } })
            .structuredContent.results
          const id = first?.id ?? assert.fail("no result")
          const fetched = await chosen.client.callTool({ name: "fetch", arguments: { id } })
          assert.deepInclude((fetched as { structuredContent: object }).structuredContent, { id, text: "text" })
          await chosen.client.close()
        })
      }).pipe(Effect.provide(layer))
    )
  }
})
