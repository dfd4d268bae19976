import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { build } from "../../../clients/typescript/build.ts"
import { programPath } from "../../../src/layers/DashboardFilesEsbuild.ts"

const root = join(import.meta.dirname, "../../..")
const sources = join(root, "clients/typescript")

/** A project with the package in it, as npm unpacks it, and Effect and the AI SDK beside it. */
const project = mkdtempSync(join(tmpdir(), "quarry-client-"))
const modules = join(project, "node_modules")
const installed = join(modules, "@quarry/client")
afterAll(() => rmSync(project, { recursive: true }))

interface Packed {
  readonly filename: string
  readonly files: ReadonlyArray<{ readonly path: string }>
}

let packed: Packed

beforeAll(() => {
  const unpacked = join(project, "unpacked")
  for (const name of ["package.json", "README.md", "LICENSE"]) cpSync(join(sources, name), join(unpacked, name))
  build(join(unpacked, "dist"))
  const output = execFileSync("npm", ["pack", "--json", "--ignore-scripts"], { cwd: unpacked, encoding: "utf8" })
  ;[packed] = JSON.parse(output)
  mkdirSync(installed, { recursive: true })
  execFileSync("tar", ["-xzf", join(unpacked, packed.filename), "--strip-components=1", "-C", installed])
  for (const name of ["effect", "ai"]) symlinkSync(join(root, "node_modules", name), join(modules, name))
})

const run = (program: string, ...args: ReadonlyArray<string>): string => {
  try {
    return execFileSync(process.execPath, [program, ...args], { cwd: project, encoding: "utf8", stdio: "pipe" })
  } catch (error) {
    const { stderr, stdout } = Object(error)
    return assert.fail(`${stdout}${stderr}`)
  }
}

/** A program that uses the client and the Quarry of tests, and decides about every error. */
const program = `
import { createQuarry, isQuarryError, type Meta, type QuarryError, type SearchResult } from "@quarry/client"
import { createTestQuarry } from "@quarry/client/testing"

const advice = (error: QuarryError): string => {
  switch (error.error) {
    case "invalid_request":
      return error.issues.map(({ field }) => field).join()
    case "unsupported_geo":
      return error.details.join()
    case "quota_exceeded":
      return String(error.resets_at)
    case "cut":
      return String(error.rows)
    case "network":
      return String(error.status)
    case "page_unreadable":
      return error.reason
    case "timeout":
    case "aborted":
    case "unsupported_parameter":
    case "unauthorized":
    case "forbidden":
    case "not_found":
    case "idempotency_in_progress":
    case "rate_limited":
    case "internal_error":
    case "upstream_error":
    case "upstream_timeout":
      return error.message
    default:
      return error satisfies never
  }
}

// @ts-expect-error: the United Kingdom is gb.
export const misspelled = (quarry: ReturnType<typeof createQuarry>) => quarry.query({ query: "a", geo: "uk" })

const test = await createTestQuarry({ plan: "custom", quota: 1 })
const quarry = test.client()
const found: SearchResult = await quarry.query("a")
const meta: Meta | undefined = quarry.last
const failed = await quarry.query("b").catch((error: unknown) => (isQuarryError(error) ? advice(error) : "none"))
await test.close()
console.log([found.results.organic.length, meta?.creditsUsed, failed].join())
`

/** A program with the tools for the AI SDK, and a client that Effect makes from the API's definition. */
const withPeers = `
import { createQuarry } from "@quarry/client"
import { quarryTools } from "@quarry/client/ai"
import { Api } from "@quarry/client/effect"
import { generateText, type LanguageModel } from "ai"
import { Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { HttpApiClient } from "effect/http-api"

const quarry = createQuarry({ baseUrl: "https://quarry.test" })
export const answer = (model: LanguageModel) => generateText({ model, tools: quarryTools(quarry), prompt: "Search" })

const me = Effect.gen(function* () {
  const client = yield* HttpApiClient.make(Api, { baseUrl: "https://quarry.test" })
  return yield* client.account.me()
}).pipe(
  Effect.map(({ plan }): string => plan),
  Effect.catchTag("unauthorized", ({ message }) => Effect.succeed(message)),
  Effect.provide(FetchHttpClient.layer),
  Effect.provideService(FetchHttpClient.Fetch, async () =>
    Response.json({ error: "unauthorized", message: "No key.", request_id: "x" }, { status: 401 })
  )
)
console.log(Object.keys(quarryTools(quarry)).join(), await Effect.runPromise(me))
`

/** A program that tests itself with a Quarry on Effect's test clock, beside a client of the package. */
const withEffectTesting = `
import { QuarryClient, UpstreamTimeout } from "@quarry/client/effect"
import { providers, TestQuarry } from "@quarry/client/testing/effect"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

const search = Effect.gen(function* () {
  const quarry = yield* QuarryClient
  return yield* quarry.search.query({ query: { query: "css grid" } })
})

const test = Effect.gen(function* () {
  const fiber = yield* Effect.forkChild(Effect.flip(search))
  yield* TestClock.adjust("15 seconds")
  const error = yield* Fiber.join(fiber)
  const { account } = yield* TestQuarry
  const { results } = yield* search
  return [error._tag, error instanceof UpstreamTimeout, (yield* account).used, results.organic.length].join()
})

const answering = { isOn: false }
const row = { url: "https://www.example.com/", title: "Title", snippet: "" }
const onceSlow = providers(() => {
  const answer = answering.isOn ? Effect.succeed([row]) : Effect.never
  answering.isOn = true
  return answer
})
console.log(
  await Effect.runPromise(
    test.pipe(Effect.provide(TestQuarry.layer()), Effect.provide(onceSlow), Effect.provide(TestClock.layer()))
  )
)
`

const strict = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    target: "es2022",
    module: "nodenext",
    lib: ["es2022", "dom", "dom.iterable"],
    types: [],
    outDir: "compiled"
  }
}

/** The blocks of code in the package's README. */
const examples = Array.from(
  readFileSync(join(sources, "README.md"), "utf8").matchAll(/```ts\n(.*?)```/gs),
  ([, text = ""]) => text
)

/** Compiles a program and answers what it prints. Declarations of packages are checked as strictly where it says so. */
const compileAndRun = (compiler: string, text: string, skipLibCheck: boolean): string => {
  const { compilerOptions } = strict
  const options = { compilerOptions: { ...compilerOptions, skipLibCheck }, files: ["program.ts"] }
  writeFileSync(join(project, "package.json"), '{"type":"module"}')
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(options))
  writeFileSync(join(project, "program.ts"), text)
  run(join(root, "node_modules", compiler))
  return run("compiled/program.js")
}

describe("the package @quarry/client", () => {
  it("has what its exports name, its licenses and its README, and nothing of its sources", () => {
    const paths = packed.files.map(({ path }) => path)
    const { dependencies, exports } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"))
    assert.isUndefined(dependencies)
    for (const path of Object.values<string>(exports)) {
      assert.include(paths, path.slice(2))
      if (path.endsWith(".js")) assert.include(paths, path.slice(2).replace(/\.js$/, ".d.ts"))
    }
    assert.includeMembers(paths, ["README.md", "LICENSE", "dist/testing/LICENSES.txt"])
    assert.deepStrictEqual(
      paths.filter((path) => !/^(?:README\.md|LICENSE|package\.json|dist\/.*\.(?:js|d\.ts|txt))$/.test(path)),
      []
    )
    assert.strictEqual(readFileSync(join(sources, "LICENSE"), "utf8"), readFileSync(join(root, "LICENSE"), "utf8"))
  })

  it("has a client of less than 5 kB, compressed", () => {
    const args = [join(installed, "dist/index.js"), "--bundle", "--minify", "--format=esm", "--target=es2022"]
    const size = gzipSync(execFileSync(programPath(), args), { level: 9 }).length
    assert.isBelow(size, 5 * 1024)
  })

  it.each(["typescript5/bin/tsc", "typescript/bin/tsc"])("compiles in a strict project, and runs: %s", (compiler) => {
    assert.strictEqual(compileAndRun(compiler, program, false), "3,1,2026-02-01T00:00:00.000Z\n")
  })

  it("has examples in its README of which the first is short, compiles, and uses what there is", () => {
    const [first = "", withTests = ""] = examples
    assert.isAtMost(first.trim().split("\n").length, 30)
    const api = `const using = async () => {\n${first.replace(/^import.*$/m, "")}}\n`
    const imports = 'import { createQuarry, isQuarryError } from "@quarry/client"\n'
    const program = imports + withTests + api.replace("process.env.QUARRY_API_KEY", '"sk_live_x"')
    const shown = "console.log((await test.account()).used)\nawait test.close()"
    const output = compileAndRun("typescript/bin/tsc", program.replace("await test.close()", shown), false)
    assert.strictEqual(output, "2\n")
  })

  it("has a Quarry on Effect's test clock, with the client's own errors", () => {
    const output = compileAndRun("typescript/bin/tsc", withEffectTesting, true)
    assert.strictEqual(output, "upstream_timeout,true,2,1\n")
  })

  it("compiles with the AI SDK and Effect beside it, and runs", () => {
    // Declarations of the AI SDK fail the strictest options.
    const output = compileAndRun("typescript/bin/tsc", withPeers, true)
    assert.strictEqual(output, "web_search,bulk_search No key.\n")
  })
})
