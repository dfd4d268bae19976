import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { builders, ownerOnly, payers, readers } from "../../src/domain/accounts/Role.ts"
import { isOffered } from "../../src/layers/auth/betterAuth/LibraryRoutes.ts"
import * as DashboardFilesEsbuild from "../../src/layers/DashboardFilesEsbuild.ts"
import { DashboardFiles } from "../../src/services/operations/DashboardFiles.ts"

const root = join(import.meta.dirname, "../..")
const folder = mkdtempSync(join(tmpdir(), "quarry-bundle-"))
afterAll(() => rmSync(folder, { recursive: true }))

const gzippedKilobytes = (text: string): number => gzipSync(text, { level: 9 }).length / 1024

/** The files of which the bundler makes the script. */
const inputs = (entry = "main.tsx"): ReadonlyArray<string> => {
  const metafile = join(folder, "meta.json")
  const args = [entry, ...DashboardFilesEsbuild.flags, `--metafile=${metafile}`, `--outdir=${folder}`]
  execFileSync(DashboardFilesEsbuild.programPath(), args, { cwd: join(root, "src/dashboard") })
  return Object.keys(JSON.parse(readFileSync(metafile, "utf8")).inputs)
}

/** `describeUserAgent` is also in emails. */
const allowed = /^(?:[^.]|\.\.\/domain\/accounts\/userAgent\.ts$|\.\.\/\.\.\/node_modules\/(?:preact|@preact)\/)/

/** The console also renders commands. */
const allowedInConsole =
  /^(?:[^.]|\.\.\/domain\/(?:accounts\/userAgent|operations\/commandLine)\.ts$|\.\.\/\.\.\/node_modules\/(?:preact|@preact)\/)/

describe("the dashboard's files", () => {
  it("hold the dashboard and its libraries for browsers, and nothing of Effect or the server", () => {
    const others = inputs().filter((path) => !allowed.test(path))
    assert.deepStrictEqual(others, [])
  })

  it("R87: hold nothing of the operator's console, which has its own", () => {
    assert.deepStrictEqual(
      inputs("main.tsx").filter((path) => path.startsWith("operator/")),
      []
    )
    const console = inputs("operator/main.tsx")
    assert.include(console, "operator/main.tsx")
    assert.deepStrictEqual(
      console.filter((path) => !allowedInConsole.test(path)),
      []
    )
  })

  it.effect("weigh less than 62 kB of script at first and 15 kB of style, compressed", () =>
    Effect.gen(function* () {
      const { imports, script, style, texts } = yield* yield* DashboardFiles
      const sizeOf = (name: string): number => gzippedKilobytes(texts.get(name) ?? assert.fail(`No file ${name}`))
      const atFirst = [script, ...imports].map(sizeOf).reduce((sum, size) => sum + size)
      assert.isAbove(atFirst, 30)
      assert.isBelow(atFirst, 62)
      assert.isBelow(sizeOf(style), 15)
      assert.include(texts.get(style) ?? "", "--accent")
    }).pipe(Effect.provide(Layer.fresh(DashboardFilesEsbuild.layer)))
  )

  it.effect("leave rarely used pages to scripts that load later", () =>
    Effect.gen(function* () {
      const { imports, script, texts } = yield* yield* DashboardFiles
      const holding = Array.from(texts).flatMap(([name, text]) => (text.includes("Sign out everywhere?") ? [name] : []))
      assert.lengthOf(holding, 1)
      assert.notInclude([script, ...imports], holding[0])
    }).pipe(Effect.provide(Layer.fresh(DashboardFilesEsbuild.layer)))
  )
})

describe("the roles that the dashboard knows", () => {
  it("are those of the API (R67)", () => {
    const text = readFileSync(join(root, "src/dashboard/app/roles.ts"), "utf8")
    const known = Array.from(text.matchAll(/^ {2}(\w+): (\[.*\]),?$/gm), ([, name = "", list = ""]) => [
      name,
      JSON.parse(list)
    ])
    assert.deepStrictEqual(Object.fromEntries(known), { ownerOnly, builders, payers, readers })
  })
})

describe("the routes that the dashboard uses", () => {
  const text = readFileSync(join(root, "src/dashboard/api/routes.ts"), "utf8")
  const contract = readFileSync(join(root, "docs/contract.md"), "utf8")
  const { paths } = JSON.parse(readFileSync(join(root, "openapi.json"), "utf8"))
  const routes = Array.from(text.matchAll(/^ {2}"([A-Z]+) (\/\S*)":/gm), ([, method = "", path = ""]) => ({
    method,
    path
  }))

  it("are routes that openapi.json describes, or those of signing in that docs/contract.md has", () => {
    assert.isAbove(routes.length, 10)
    const unknown = routes.filter(({ method, path }) =>
      path.startsWith("/api/auth/")
        ? !isOffered(method, path, { apps: false, providers: true }) || !contract.includes(`| \`${method} ${path}\` |`)
        : paths[path]?.[method.toLowerCase()] === undefined
    )
    assert.deepStrictEqual(unknown, [])
  })
})
