import { writeFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { command } from "../../support/processes/Command.ts"
import { freePort, spawned, temporaryDirectory } from "../../support/processes/Spawned.ts"
import * as OpenSearchServer from "../../support/servers/OpenSearchServer.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"

const password = "a-password-that-must-not-be-seen"

describe("documents in OpenSearch or Elasticsearch", () => {
  it.live(
    "are loaded by the command and found by the service, and no output shows the credential",
    () =>
      Effect.gen(function* () {
        const authorization = `Basic ${Buffer.from(`quarry:${password}`).toString("base64")}`
        const engine = yield* OpenSearchServer.start({ authorization })
        const directory = yield* temporaryDirectory
        const [pages, file] = [`${directory}/pages.jsonl`, `${directory}/providers.json`]
        const document = { url: "https://example.org/", title: "Freshness", description: "Of answers." }
        writeFileSync(pages, `${JSON.stringify(document)}\n${JSON.stringify({ ...document, url: "no address" })}\n`)
        const entry = { type: "opensearch", url: engine.url, index: "pages", username: "quarry" }
        const targets = { alpha_search: [{ provider: "engine" }] }
        const providers = { engine: { ...entry, password: `\${ENGINE_PASSWORD}` } }
        writeFileSync(file, JSON.stringify({ providers, targets }))
        const port = yield* freePort
        const env = {
          DATA_DIR: yield* EmbeddedStore.directory,
          LOG_FORMAT: "json",
          PORT: `${port}`,
          QUARRY_PROVIDERS: file,
          ENGINE_PASSWORD: password
        }
        const loaded = yield* command(env, "index", "load", pages, "--provider", "engine", "--json")
        assert.strictEqual(loaded.code, 1, "a line is not a document")
        const { problems, ...counts } = JSON.parse(loaded.stdout)
        assert.deepStrictEqual([counts, problems.length], [{ loaded: 1, removed: 0, failed: 1 }, 1])

        const cli = (...args: ReadonlyArray<string>) =>
          Effect.map(command(env, ...args, "--json"), ({ stdout }) => JSON.parse(stdout))
        const { account_id } = yield* cli("account", "create", "--email", "ops@example.org", "--plan", "trial")
        const { secret } = yield* cli("key", "create", "--account", account_id, "--name", "test")
        const server = yield* spawned("src/main.ts", [], env)
        yield* server.said("Quarry listens at ")
        const answer = yield* Effect.promise(() =>
          fetch(`http://127.0.0.1:${port}/v1/query?query=freshness`, { headers: { authorization: `Bearer ${secret}` } })
        )
        const body = (yield* Effect.promise(() => answer.json())) as {
          readonly results: { readonly organic: ReadonlyArray<object> }
        }
        assert.strictEqual(answer.status, 200, JSON.stringify(body))
        assert.deepInclude(body.results.organic[0], {
          url: "https://example.org/",
          title: "Freshness",
          snippet: "Of answers."
        })
        const said = `${loaded.stdout}${loaded.stderr}${yield* server.said("/v1/query")}`
        assert.notInclude(said, password)
      }),
    90_000
  )
})
