import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const document = join(root, "openapi.json")

const execute = promisify(execFile)

const env = { ...process.env, NODE_OPTIONS: `--import ${join(root, "test/support/processes/typescript5.ts")}` }

/** Runs a program with TypeScript 5 and answers what it printed; it fails with that when the program does. */
const run = (program: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(() =>
    execute(process.execPath, [program, ...args], { cwd: root, env }).then(
      ({ stdout }) => stdout,
      ({ stderr, stdout }) => assert.fail(`${stdout}${stderr}`)
    )
  )

const installed = (path: string): string => join(root, "node_modules", path)

const generated = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "quarry-generators-"))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
)

/** As strict as the generators promise to be. */
const options = ["--strict", "--target", "es2022", "--lib", "es2022,dom,dom.iterable"]

/** Compiles a program beside what was generated, and answers where it can be run. */
const compile = Effect.fnUntraced(function* (directory: string, text: string) {
  const program = join(directory, "program.ts")
  yield* Effect.promise(() => writeFile(program, text))
  const output = join(directory, "compiled")
  yield* run(installed("typescript5/bin/tsc"), ...options, "--module", "commonjs", "--outDir", output, program)
  return join(output, "program.js")
})

/** R17: rows without anything but a query are allowed, so that nothing is sent over the body's target. */
const withTypes = `
import type { components, paths } from "./types"

export const body: components["schemas"]["BulkRequest"] = {
  queries: ["a", { query: "b" }, { query: "c", num: 5 }],
  target: "beta_search"
}
export const shortest: components["schemas"]["BulkRequest"] = { queries: ["a"] }

type Search = paths["/v1/query"]["get"]
export const parameters: Search["parameters"]["query"] = { query: "a" }
export const titles = (answer: Search["responses"][200]["content"]["application/json"]): ReadonlyArray<string> =>
  answer.results.organic.map(({ title }) => title)
export const wait = (headers: Search["responses"][429]["headers"]): number | undefined => headers["Retry-After"]
export const grouping: components["schemas"]["UsageGroupBy"] = "key"
export const call: components["schemas"]["McpMessage"] = { jsonrpc: "2.0", method: "tools/call", params: { name: "a" } }
export const events = (stream: paths["/mcp"]["post"]["responses"][200]["content"]["text/event-stream"]): string => stream
`

/** Shows what the client sends for a batch. */
const withClient = `
import { bulk, query, usage } from "./index"
import { createClient } from "./client"

const show = async (request: Request): Promise<Response> => {
  console.log(await request.text())
  return Response.json({})
}
const client = createClient({
  baseUrl: "https://quarry.test",
  auth: "sk_live_x",
  fetch: (request) => show(request as Request)
})

export const search = async (): Promise<string> => {
  const { data, error } = await query({ client, query: { query: "a" } })
  if (data === undefined) return error === undefined ? "" : error.message
  return data.results.organic.map(({ title }) => title).join()
}
export const used = () => usage({ client, query: { group_by: "key" } })

void bulk({ client, body: { queries: ["a", { query: "b" }], target: "beta_search" } })
`

/** Compiling takes five seconds, and longer beside other tests. */
const timeoutMs = 120_000

describe("clients that others generate from the document", () => {
  it.live(
    "openapi-typescript: its types compile, and R17: a row needs no more than its query",
    () =>
      Effect.gen(function* () {
        const directory = yield* generated
        yield* run(installed("openapi-typescript/bin/cli.js"), document, "-o", join(directory, "types.ts"))
        yield* compile(directory, withTypes)
      }),
    timeoutMs
  )

  it.live(
    "@hey-api/openapi-ts: its client compiles, and R17: sends a batch as it was given",
    () =>
      Effect.gen(function* () {
        const directory = yield* generated
        yield* run(installed("@hey-api/openapi-ts/bin/run.js"), "-i", document, "-o", directory)
        const sent = yield* run(yield* compile(directory, withClient))
        assert.deepStrictEqual(JSON.parse(sent), { queries: ["a", { query: "b" }], target: "beta_search" })
      }),
    timeoutMs
  )
})
