import { execFileSync } from "node:child_process"
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import ts from "typescript5"
import { longFunctions, maxLines } from "../../scripts/functionLengths.ts"

const root = join(import.meta.dirname, "../..")

/** The rooms of src/ that each room may import. */
const arrows = {
  domain: [],
  services: ["domain"],
  settings: ["domain"],
  layers: ["domain", "services"],
  http: ["domain", "services"],
  compat: ["domain", "services", "http"],
  site: ["domain", "services", "http", "compat"],
  mcp: ["domain", "services", "http"],
  process: ["domain", "services", "settings", "layers", "http", "compat", "site", "mcp"],
  cli: ["domain", "services", "settings", "layers"],
  testing: ["domain", "services", "layers"],
  dashboard: ["domain", "http"]
} as const

const rooms = Object.keys(arrows)

const Report = Schema.fromJsonString(
  Schema.Struct({
    diagnostics: Schema.Array(
      Schema.Struct({
        category: Schema.String,
        location: Schema.Struct({ path: Schema.String, start: Schema.Struct({ line: Schema.Int }) })
      })
    )
  })
)

/** A project with the linter's rules, in which a file of each room imports every room. */
const project = mkdtempSync(join(tmpdir(), "quarry-rooms-"))
afterAll(() => rmSync(project, { recursive: true }))

/** The rooms that the linter forbids a file of src/ to import. */
const forbidden = (() => {
  cpSync(join(root, "biome.json"), join(project, "biome.json"))
  for (const room of rooms) {
    mkdirSync(join(project, "src", room), { recursive: true })
    writeFileSync(join(project, "src", room, "X.ts"), rooms.map((other) => `import "../${other}/Y.ts"\n`).join(""))
  }
  const args = ["lint", "--vcs-enabled=false", "--reporter=json", "--max-diagnostics=none", "src"]
  let json = ""
  try {
    execFileSync(join(root, "node_modules/.bin/biome"), args, { cwd: project, encoding: "utf8", stdio: "pipe" })
  } catch (error) {
    json = String((error as { readonly stdout: unknown }).stdout) // A process that exits with 1 leaves its output there.
  }
  const { diagnostics } = Schema.decodeUnknownSync(Report)(json)
  return diagnostics
    .filter(({ category }) => category === "lint/style/noRestrictedImports")
    .map(({ location }) => ({ room: location.path.split("/")[1], imported: rooms[location.start.line - 1] }))
})()

/** Every file that a file imports, early or late, and the packages, by their names. */
const importsOf = (entry: string): ReadonlySet<string> => {
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    if (!file.endsWith(".ts")) return
    for (const { fileName } of ts.preProcessFile(readFileSync(join(root, file), "utf8")).importedFiles) {
      if (fileName.startsWith(".")) visit(join(dirname(file), fileName))
      else seen.add(fileName)
    }
  }
  visit(entry)
  return seen
}

describe("the rooms of src/", () => {
  it.each(Object.entries(arrows))("the linter lets %s import %j and itself, and no other room", (room, allowed) => {
    const refused = forbidden.filter((it) => it.room === room).map(({ imported }) => imported)
    const others = rooms.filter((other) => other !== room && !allowed.some((it) => it === other))
    assert.deepStrictEqual(refused.toSorted(), others.toSorted())
  })

  it("the linter's rules name no file that is gone", () => {
    const { overrides } = JSON.parse(readFileSync(join(root, "biome.json"), "utf8"))
    for (const include of overrides.flatMap((it: { readonly includes: ReadonlyArray<string> }) => it.includes)) {
      const [, before = "", names, after = ""] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(include) ?? []
      const globs = names === undefined ? [include] : names.split(",").map((name) => `${before}${name}${after}`)
      for (const glob of globs) assert.isNotEmpty(globSync(glob, { cwd: root }), glob)
    }
  })

  it("the server loads nothing of the CLI, neither at its start nor later", () => {
    const imports = [...importsOf("src/main.ts")]
    assert.include(imports, "src/mcp/ProtocolServer.ts")
    assert.deepStrictEqual(
      imports.filter((it) => it.startsWith("src/cli") || it.startsWith("effect/cli")),
      []
    )
  })

  it("the API's definition can be imported without the server", () => {
    const imports = [...importsOf("src/http/Api.ts")]
    assert.deepStrictEqual(
      imports.filter((it) => /^(src\/(?!domain|http)|src\/http\/(handlers|middleware)|node:|@effect\/)/.test(it)),
      []
    )
  })
})

describe("scripts/functionLengths.ts", () => {
  const body = (lines: number) => "  a()\n".repeat(lines)

  it.each([
    ["a function", (lines: number) => `function f() {\n${body(lines)}}`],
    ["an arrow function", (lines: number) => `const f = () => {\n${body(lines)}}`],
    ["a generator", (lines: number) => `Effect.gen(function* () {\n${body(lines)}})`],
    ["a method", (lines: number) => `class A { m() {\n${body(lines)}} }`],
    [
      "a function whose lines are in a template literal",
      (lines: number) => `const f = () => {\nsql\`${"\n".repeat(lines - 1)}\`\n}`
    ]
  ])("finds %s of more than 70 lines", (_, make) => {
    assert.deepStrictEqual(longFunctions("a.ts", make(maxLines - 2)), [])
    assert.deepStrictEqual(longFunctions("a.ts", make(maxLines - 1)), [
      `a.ts:1 has a function of ${maxLines + 1} lines, more than ${maxLines}`
    ])
  })
})
