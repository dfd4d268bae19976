import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, References } from "effect"
import * as Listener from "../../support/api/Listener.ts"
import { aCaller, found, providing, services } from "../../support/api/Services.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const document = join(root, "openapi.json")

const execute = promisify(execFile)

const env = { ...process.env, NODE_OPTIONS: `--import ${join(root, "test/support/processes/typescript5.ts")}` }

/** Runs a program with TypeScript 5 and answers what it printed; it fails with that when the program does. */
const run = (program: string, ...args: ReadonlyArray<string>) =>
  Effect.promise((signal) =>
    execute(process.execPath, [program, ...args], { cwd: root, env, signal }).then(
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

/**
 * What a developer does first with hey-api's client: sets the address and the key for all calls. The errors of a call
 * are typed by their code.
 */
const heyApiProgram = `
import { client } from "./client.gen"
import { me, query } from "./sdk.gen"

declare const process: { readonly argv: ReadonlyArray<string> }
const [, , baseUrl = "", secret = ""] = process.argv
client.setConfig({ baseUrl, auth: secret })

const search = async (): Promise<string> => {
  const { data, error } = await query({ query: { query: "css grid" } })
  if (data !== undefined) return data.results.organic.map(({ title }) => title).join()
  switch (error?.error) {
    case "quota_exceeded":
      return "402: " + error.quota + " credits, " + error.credits_used + " used"
    case "rate_limited":
      return "429: " + error.message
    default:
      return "another error: " + error?.message
  }
}

const run = async () => {
  const account = await me()
  console.log(account.data?.plan ?? account.error?.message)
  console.log(await search())
  console.log(await search())
  for (let call = 0; call < 60; call++) await me()
  console.log(await search())
}
void run()
`

/** The same with nothing but the types of openapi-typescript, and fetch. */
const typesProgram = `
import type { paths } from "./types"

declare const process: { readonly argv: ReadonlyArray<string> }
const [, , baseUrl = "", secret = ""] = process.argv
type Responses = paths["/v1/query"]["get"]["responses"]
type Body<S extends keyof Responses> = Responses[S]["content"]["application/json"]

const call = (path: keyof paths, query = "") =>
  fetch(baseUrl + path + query, { headers: { authorization: "Bearer " + secret } })

const search = async (): Promise<string> => {
  const response = await call("/v1/query", "?query=css+grid")
  const body: Body<200> | Body<402> | Body<429> = await response.json()
  if (!("error" in body)) return body.results.organic.map(({ title }) => title).join()
  return body.error === "quota_exceeded"
    ? "402: " + body.quota + " credits, " + body.credits_used + " used"
    : "429: " + body.message
}

const run = async () => {
  const account: paths["/v1/me"]["get"]["responses"][200]["content"]["application/json"] = await (await call("/v1/me")).json()
  console.log(account.plan)
  console.log(await search())
  console.log(await search())
  for (let calls = 0; calls < 60; calls++) await call("/v1/me")
  console.log(await search())
}
void run()
`

/** The same with orval's functions, whose responses are a union on `status`. */
const orvalProgram = `
import { me, query } from "./quarry"

declare const process: { readonly argv: ReadonlyArray<string> }
const secret = process.argv[3] ?? ""
const options = { headers: { authorization: "Bearer " + secret } }

const search = async (): Promise<string> => {
  const response = await query({ query: "css grid" }, options)
  switch (response.status) {
    case 200:
      return response.data.results.organic.map(({ title }) => title).join()
    case 402:
      return "402: " + response.data.quota + " credits, " + response.data.credits_used + " used"
    case 429:
      return "429: " + response.data.message
    default:
      return "another error: " + response.data.message
  }
}

const run = async () => {
  const account = await me(options)
  console.log(account.status === 200 ? account.data.plan : account.data.message)
  console.log(await search())
  console.log(await search())
  for (let call = 0; call < 60; call++) await me(options)
  console.log(await search())
}
void run()
`

/** The program of orval 8, which brings 300 packages and is therefore no dependency: npx --package orval … sets it. */
const orval = process.env.ORVAL

/** Runs a compiled program against a listener with an account of one credit. Answers what the program printed. */
const runAgainstService = (program: string) =>
  Effect.gen(function* () {
    const port = yield* Listener.startOverServices
    const { secret } = yield* aCaller({ plan: "custom", quota: 1, concurrency: 1 })
    return yield* run(program, `http://127.0.0.1:${port}`, secret)
  }).pipe(
    Effect.provide([services(providing(() => Effect.succeed(found(2)))), NodeHttpServer.layerHttpServices]),
    Effect.provideService(References.MinimumLogLevel, "None")
  )

const signedInAndServed = ["custom", "Title 1,Title 2", "402: 1 credits, 1 used", ""].join("\n")

const assertServed = (output: string) => {
  assert.strictEqual(output.slice(0, signedInAndServed.length), signedInAndServed)
  assert.match(output.slice(signedInAndServed.length), /^429: .*60 requests/)
}

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

  it.live(
    "openapi-typescript: a program with its types signs in, searches, and reads a typed 402 and 429",
    () =>
      Effect.gen(function* () {
        const directory = yield* generated
        yield* run(installed("openapi-typescript/bin/cli.js"), document, "-o", join(directory, "types.ts"))
        assertServed(yield* runAgainstService(yield* compile(directory, typesProgram)))
      }),
    timeoutMs
  )

  it.live(
    "R69: @hey-api/openapi-ts: its client signs in with one key, searches, and catches a typed 402 and 429",
    () =>
      Effect.gen(function* () {
        const directory = yield* generated
        yield* run(installed("@hey-api/openapi-ts/bin/run.js"), "-i", document, "-o", directory)
        assertServed(yield* runAgainstService(yield* compile(directory, heyApiProgram)))
      }),
    timeoutMs
  )

  it.live.skipIf(orval === undefined)(
    "orval: its functions sign in, search, and return a typed 402 and 429 (needs ORVAL, the path of its program)",
    () =>
      Effect.gen(function* () {
        const directory = yield* generated
        const config = join(directory, "orval.config.mjs")
        const output = { target: join(directory, "generated.ts"), client: "fetch" }
        const text = `export default ${JSON.stringify({ quarry: { input: document, output } })}`
        yield* Effect.promise(() => writeFile(config, text))
        yield* run(orval ?? "", "--config", config)
        const source = yield* Effect.promise(() => readFile(output.target, "utf8"))
        // Its addresses are relative, as a page of the same origin needs them.
        const absolute = source.replaceAll("`/v1/", "(globalThis as any).process.argv[2] + `/v1/")
        yield* Effect.promise(() => writeFile(join(directory, "quarry.ts"), absolute))
        assertServed(yield* runAgainstService(yield* compile(directory, orvalProgram)))
      }),
    timeoutMs
  )
})
