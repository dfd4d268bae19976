import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, References } from "effect"
import { parseAllDocuments } from "yaml"
import * as Listener from "../support/api/Listener.ts"
import { aCaller, found, providing, services } from "../support/api/Services.ts"
import { type Block, blocksOf } from "../support/Blocks.ts"
import * as ClientProject from "../support/processes/ClientProject.ts"

/** Every block of code in the README, `docs/` and the clients' READMEs: compiled, and run where it can be. */

const root = join(import.meta.dirname, "../..")

const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "AGENTS.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((name) => `docs/${name}`),
  "clients/README.md",
  "clients/typescript/README.md",
  "clients/python/README.md"
].filter((name) => name.endsWith(".md"))

const blocks = documents.flatMap(blocksOf)

const of = (...languages: ReadonlyArray<string>): ReadonlyArray<Block> =>
  blocks.filter(({ language }) => languages.includes(language))

const placeOf = ({ document, line }: Block): string => `${document}:${line}`

const fileOf = ({ document, language, line }: Block): string =>
  `blocks/${document.replaceAll(/[^a-z]+/gi, "-")}-${line}.${language}`

/** Declares the packages of others that blocks name and the repository does not install. */
const otherPackages = `
declare module "@langchain/core/tools" {
  export const tool: (run: (input: { query: string }) => Promise<string>, options: object) => unknown
}
`

/** Blocks that stand in the repository itself, with imports of its files. */
const isOfRepository = ({ text }: Block): boolean => /from "\.\.?\//.test(text)

const commands = ["npm run ", "npm test", "npm start"]

let project: ClientProject.ClientProject
beforeAll(() => {
  project = ClientProject.make([
    "effect",
    "vitest",
    "@effect/vitest",
    "@types/node",
    "quarry",
    "ai",
    "standardwebhooks"
  ])
})
afterAll(() => project.remove())

/** Programs that end by themselves, which are run against a listener. */
const programs = of("ts").filter(
  ({ document, text }) =>
    /^(?:README|docs\/guides\/clients\/|clients\/typescript)/.test(document) &&
    /console\.(?:log|warn)|export const ask/.test(text) &&
    !/langchain|vitest|\/ai"/.test(text)
)

const runPrograms = Effect.gen(function* () {
  const port = yield* Listener.startOverServices
  const url = `http://127.0.0.1:${port}`
  for (const program of programs) {
    const { secret } = yield* aCaller({ plan: "growth" })
    const text = program.text
      .replaceAll(/https?:\/\/(?:localhost:3000|search\.example\.org)/g, url)
      .replaceAll("sk_live_…", secret)
    project.write(fileOf(program), text)
    const env = { QUARRY_URL: url, QUARRY_API_KEY: secret }
    const { ok, output } = yield* Effect.promise(() => project.start(fileOf(program), env))
    assert.isTrue(ok, `${placeOf(program)}\n${output}`)
    assert.isNotEmpty(output, placeOf(program))
  }
})

describe("the blocks of code in the documents", () => {
  it("have TypeScript that compiles strictly against the built package", () => {
    const files = of("ts").filter((block) => !isOfRepository(block))
    assert.isAtLeast(files.length, 15)
    // A block without imports would share its names with the others.
    for (const block of files) project.write(fileOf(block), `${block.text}\nexport {}\n`)
    project.write("blocks/others.d.ts", otherPackages)
    const { ok, output } = project.compile([...files.map(fileOf), "blocks/others.d.ts"])
    assert.isTrue(ok, output)
  })

  it.live("have programs that run against a Quarry", () =>
    runPrograms.pipe(
      Effect.provide([services(providing(() => Effect.succeed(found(5)))), NodeHttpServer.layerHttpServices]),
      Effect.provideService(References.MinimumLogLevel, "None")
    )
  )

  it("have JavaScript and shell lines without syntax errors", () => {
    for (const block of of("js")) {
      project.write(fileOf(block), block.text)
      const { ok, output } = project.run("--check", fileOf(block))
      assert.isTrue(ok, `${placeOf(block)}\n${output}`)
    }
    for (const block of of("sh")) {
      const { status, stderr } = spawnSync("bash", ["-n"], { input: block.text, encoding: "utf8" })
      assert.strictEqual(status, 0, `${placeOf(block)}\n${stderr}`)
    }
  })

  it("have shell lines that name scripts of package.json", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    for (const block of of("sh")) {
      for (const [, name = ""] of block.text.matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g)) {
        assert.property(scripts, name, placeOf(block))
      }
    }
    assert.isNotEmpty(of("sh").filter(({ text }) => commands.some((command) => text.includes(command))))
  })

  it("have JSON and YAML that can be parsed", () => {
    for (const block of of("json")) assert.doesNotThrow(() => JSON.parse(block.text), placeOf(block))
    for (const block of of("yaml")) {
      for (const { errors } of parseAllDocuments(block.text)) assert.isEmpty(errors, placeOf(block))
    }
  })

  it("have Python without syntax errors", () => {
    for (const block of of("python")) {
      const parse = ["-c", "import ast, sys; ast.parse(sys.stdin.read())"]
      const { error, status, stderr } = spawnSync("python3", parse, { input: block.text, encoding: "utf8" })
      // Without Python the tests of the Python client, which run these blocks too, say that it is missing.
      if (error === undefined) assert.strictEqual(status, 0, `${placeOf(block)}\n${stderr}`)
    }
  })
})
