import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { blocksOf } from "../support/Blocks.ts"
import * as ClientProject from "../support/processes/ClientProject.ts"

/** The files of the page, by the names in their first lines. */
const files = new Map(
  blocksOf("docs/guides/testing-with-effect.md")
    .filter(({ language }) => language === "ts")
    .map(({ text }) => [/^\/\/ (\S+)/.exec(text)?.[1] ?? "unnamed", text])
)

const fileOf = (name: string): string => files.get(name) ?? assert.fail(`The page has no ${name}.`)

/** A Layer of each file made wrong, as somebody could write it by mistake. */
const mistakes: ReadonlyArray<readonly [file: string, right: string, wrong: string]> = [
  ["news.test.ts", "Effect.never", "Effect.succeed([])"],
  [
    "providers.test.ts",
    'Effect.fail(new UpstreamError({ message: "The provider is down." }))',
    "Effect.succeed([row])"
  ],
  ["credits.test.ts", "quota: 1 }", "quota: 2 }"],
  ["credits.test.ts", "TestQuarry.layer()", 'TestQuarry.layer({ plan: "growth" })'],
  ["failover.test.ts", "table([silent, archive])", "table([archive])"],
  ["failover.test.ts", "table([silent])", "table([archive])"]
]

const vitest = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs")

interface FileResult {
  readonly name: string
  readonly status: string
  readonly message: string
  readonly assertionResults: ReadonlyArray<{ readonly status: string; readonly duration?: number }>
}

let project: ClientProject.ClientProject
beforeAll(() => {
  project = ClientProject.make(["effect", "vitest", "@effect/vitest", "@types/node", "quarry"])
})
afterAll(() => project.remove())

/** One worker that keeps what it has loaded, so that the time of a test is its own. */
const sequential = ["--maxWorkers=1", "--no-isolate"]

/** Runs the tests of a folder, and answers how each file ended. */
const run = (folder: string): ReadonlyArray<FileResult> => {
  const report = join(project.directory, `${folder}.json`)
  const root = join(project.directory, folder)
  const { output } = project.run(
    vitest,
    "run",
    "--root",
    root,
    "--reporter=json",
    `--outputFile=${report}`,
    ...sequential
  )
  if (!existsSync(report)) return assert.fail(output)
  return JSON.parse(readFileSync(report, "utf8")).testResults
}

const maxTestsMs = 5_000

describe("docs/guides/testing-with-effect.md", () => {
  it("has files that compile strictly against the built package", () => {
    for (const [name, text] of files) project.write(`page/${name}`, text)
    const { ok, output } = project.compile([...files.keys()].map((name) => `page/${name}`))
    assert.isTrue(ok, output)
  })

  it("has tests that pass without waiting for the seconds that they simulate", () => {
    for (const [name, text] of files) project.write(`page/${name}`, text)
    let fastestMs = Number.POSITIVE_INFINITY
    // The tests simulate waits of more than 15 seconds. On a busy machine they take more than a second.
    for (let attempt = 0; attempt < 3 && fastestMs >= maxTestsMs; attempt++) {
      const results = run("page")
      assert.lengthOf(results, 4)
      for (const { message, name, status } of results) assert.strictEqual(status, "passed", `${name} ${message}`)
      const durations = results.flatMap(({ assertionResults }) => assertionResults.map(({ duration = 0 }) => duration))
      fastestMs = Math.min(
        fastestMs,
        durations.reduce((sum, duration) => sum + duration, 0)
      )
    }
    assert.isBelow(fastestMs, maxTestsMs)
  })

  it("has tests that fail when a Layer is wrong", () => {
    mistakes.forEach(([name, right, wrong], index) => {
      const text = fileOf(name)
      assert.include(text, right)
      project.write(`wrong/${index}-${name}`, text.replace(right, wrong))
    })
    const results = run("wrong")
    assert.lengthOf(results, mistakes.length)
    for (const { name, status } of results) assert.strictEqual(status, "failed", name)
  })
})
