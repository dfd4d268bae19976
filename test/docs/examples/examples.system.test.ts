import { execFile, execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { MockLanguageModelV4 } from "ai/test"
import { Effect } from "effect"
import { parse } from "yaml"
import { answer } from "../../../examples/ai-sdk-agent/agent.ts"
import { WebSearch } from "../../../examples/effect/Trends.ts"
import { QuarryRetriever } from "../../../examples/langchain-retriever/retriever.ts"
import { freePort, spawned } from "../../support/processes/Spawned.ts"

const examples = new URL("../../../examples/", import.meta.url)
const timeout = 240_000
const read = (path: string): string => readFileSync(new URL(path, examples), "utf8")

const has = (program: string, ...args: ReadonlyArray<string>): boolean => {
  try {
    execFileSync(program, args, { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of many shapes and assert what they find.
const jsonOf = async (response: Response): Promise<any> => await response.json()

/** A Quarry as `npm start` makes it, with the key that it prints. */
const running = Effect.gen(function* () {
  const baseUrl = `http://localhost:${yield* freePort}`
  const env = { DATA_DIR: "memory:", LOG_FORMAT: "json", COMPAT: "openwebui", PORT: new URL(baseUrl).port }
  const server = yield* spawned("src/main.ts", [], env)
  const [apiKey = ""] = /sk_live_\w+/.exec(yield* server.said('"curl"')) ?? []
  assert.notStrictEqual(apiKey, "")
  return { baseUrl, apiKey }
})

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 }
}

/** A model that searches once and then answers. */
const model = () =>
  new MockLanguageModelV4({
    doGenerate: [
      {
        content: [{ type: "tool-call", toolCallId: "1", toolName: "web_search", input: '{"query":"http caching"}' }],
        finishReason: { unified: "tool-calls", raw: undefined },
        usage,
        warnings: []
      },
      {
        content: [{ type: "text", text: "Done." }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: []
      }
    ]
  })

interface N8nNode {
  readonly name: string
  readonly parameters: {
    readonly url: string
    readonly queryParameters: { readonly parameters: ReadonlyArray<{ readonly name: string; readonly value: string }> }
    readonly headerParameters: { readonly parameters: ReadonlyArray<{ readonly name: string; readonly value: string }> }
    readonly fieldToSplitOut: string
  }
}

/** The value of an n8n expression, of which the example has only variables of the environment. */
const evaluated = (text: string, env: Readonly<Record<string, string>>): string =>
  text.startsWith("=")
    ? text.slice(1).replaceAll(/\{\{ \$env\.(\w+) \}\}/g, (_, name: string) => env[name] ?? "")
    : text

/** Sends the request of the workflow as n8n does, and splits the answer. */
const runWorkflow = async (env: Readonly<Record<string, string>>): Promise<unknown> => {
  const { nodes }: { readonly nodes: ReadonlyArray<N8nNode> } = JSON.parse(read("n8n/workflow.json"))
  const node = (name: string) => nodes.find((it) => it.name === name)?.parameters ?? assert.fail(`no node ${name}`)
  const { headerParameters, queryParameters, url } = node("Search")
  const pairs = (list: N8nNode["parameters"]["queryParameters"]) =>
    list.parameters.map(({ name, value }): [string, string] => [name, evaluated(value, env)])
  const address = `${evaluated(url, env)}?${new URLSearchParams(pairs(queryParameters))}`
  let value = await jsonOf(await fetch(address, { headers: pairs(headerParameters) }))
  for (const name of node("One item for each result").fieldToSplitOut.split(".")) value = value[name]
  return value
}

const caching = "https://developer.mozilla.org/en-US/docs/Web/HTTP/Guides/Caching"

describe("the examples", () => {
  it("have less than 60 lines in each folder's files", () => {
    for (const folder of readdirSync(examples, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
      // Descriptions of providers are data.
      if (folder.name === "providers") continue
      for (const name of readdirSync(new URL(`${folder.name}/`, examples))) {
        assert.isBelow(read(`${folder.name}/${name}`).split("\n").length, 61, `${folder.name}/${name}`)
      }
    }
  })

  it.live(
    "search a running Quarry: agent, retriever, script, workflow, Effect, Open WebUI and LibreChat",
    () =>
      Effect.gen(function* () {
        const { apiKey, baseUrl } = yield* running
        const env = { QUARRY_URL: baseUrl, QUARRY_API_KEY: apiKey }
        const before = { ...process.env }
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            process.env = before
          })
        )
        Object.assign(process.env, env)

        const { sources, text } = yield* Effect.promise(() => answer(model(), "What is HTTP caching?"))
        assert.strictEqual(text, "Done.")
        assert.include(sources, caching)

        const retriever = new QuarryRetriever({ ...{ baseUrl, apiKey }, count: 3 })
        const found = yield* Effect.promise(() => retriever.invoke("http caching"))
        assert.lengthOf(found, 3)
        assert.deepStrictEqual(found[0]?.metadata, { source: caching, position: 1 })

        const script = fileURLToPath(new URL("python-script/search.py", examples))
        if (has("python3", "--version")) {
          const run = (...words: ReadonlyArray<string>) =>
            Effect.promise(() => promisify(execFile)("python3", [script, ...words], { env: { ...before, ...env } }))
          assert.include((yield* run("http", "caching")).stdout, `   ${caching}\n`)
        }

        const items = yield* Effect.promise(() => runWorkflow(env))
        assert.strictEqual(Array.isArray(items) && items[0]?.url, caching)

        const urls = yield* Effect.provide(
          Effect.flatMap(WebSearch, (search) => search.urls("http caching")),
          WebSearch.layer({ baseUrl, apiKey })
        )
        assert.strictEqual(urls[0], caching)

        const webUi = parse(read("open-webui/compose.yml")).services["open-webui"].environment
        const shape = webUi.EXTERNAL_WEB_SEARCH_URL.replace("http://quarry:3000", baseUrl)
        const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" }
        const post = (url: string, body: object, more = {}) =>
          Effect.promise(async () =>
            jsonOf(await fetch(url, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) }))
          )
        assert.strictEqual((yield* post(shape, { query: "http caching", count: 3 }))[0].link, caching)

        const { quarry } = parse(read("librechat/librechat.yaml")).mcpServers
        assert.strictEqual(quarry.headers.Authorization, `Bearer \${QUARRY_API_KEY}`)
        const mcp = quarry.url.replace("http://quarry:3000", baseUrl)
        const tools = yield* post(
          mcp,
          { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} },
          { accept: "application/json, text/event-stream" }
        )
        assert.include(
          tools.result.tools.map(({ name }: { readonly name: string }) => name),
          "web_search"
        )
      }),
    timeout
  )

  it.skipIf(!has("docker-compose", "version"))("Compose accepts the files", () => {
    for (const folder of ["open-webui", "librechat"]) {
      const file = fileURLToPath(new URL(`${folder}/compose.yml`, examples))
      execFileSync("docker-compose", ["-f", file, "config", "-q"], { stdio: ["ignore", "ignore", "pipe"] })
    }
  })
})
