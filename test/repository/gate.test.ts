import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8")

const Manifest = Schema.fromJsonString(Schema.Struct({ scripts: Schema.Record(Schema.String, Schema.String) }))
const { scripts } = Schema.decodeUnknownSync(Manifest)(read("package.json"))

const everything = "npm run test:all"

describe("the gate", () => {
  it("runs every test, by the one command that the documents name for it", () => {
    assert.strictEqual(scripts["test:all"], "vitest run")
    assert.include(read(".ci/run"), `\n${everything} -- --reporter=`)
    for (const document of ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"]) {
      assert.include(read(document), everything, document)
    }
  })

  it("runs in every project of the tests, of which the fast command leaves out two", () => {
    const projects = Array.from(read("vitest.config.ts").matchAll(/name: "([^"]+)"/g), ([, name = ""]) => name)
    const fast = Array.from(`${scripts.test}`.matchAll(/--project (\S+)/g), ([, name = ""]) => name)
    assert.deepStrictEqual(projects, [...fast, "dashboard-system", "system"])
  })

  it("tries no test twice in one process, and lists each test of real servers that it tried twice", () => {
    const [inProcess = "", ...others] = read("vitest.config.ts").split("extends: true").slice(1)
    assert.notInclude(inProcess, "retry")
    for (const project of others) assert.match(project, /\bretry\b/)
    assert.include(read(".ci/run"), "--reporter=./test/support/UnstableTests.ts")
  })
})
