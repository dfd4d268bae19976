import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { build } from "../../../clients/typescript/build.ts"

const root = join(import.meta.dirname, "../../..")

const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  erasableSyntaxOnly: true,
  allowImportingTsExtensions: true,
  target: "esnext",
  module: "nodenext",
  lib: ["esnext", "dom", "dom.iterable", "dom.asynciterable"],
  types: ["node"],
  skipLibCheck: true,
  noEmit: true
}

export interface ClientProject {
  readonly directory: string
  readonly write: (name: string, text: string) => void
  /** Runs a program of the repository's packages in the project. Answers what it printed, also where it fails. */
  readonly run: (program: string, ...args: ReadonlyArray<string>) => { readonly ok: boolean; readonly output: string }
  /** Compiles the named files as strictly as the package promises to compile. */
  readonly compile: (names: ReadonlyArray<string>) => { readonly ok: boolean; readonly output: string }
  readonly remove: () => void
}

/** A project of a developer: the built client as npm unpacks it, and packages of the repository beside it. */
export const make = (packages: ReadonlyArray<string>): ClientProject => {
  const directory = mkdtempSync(join(tmpdir(), "quarry-project-"))
  const modules = join(directory, "node_modules")
  const installed = join(modules, "@quarry/client")
  mkdirSync(installed, { recursive: true })
  cpSync(join(root, "clients/typescript/package.json"), join(installed, "package.json"))
  build(join(installed, "dist"))
  for (const name of packages) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(name === "quarry" ? root : join(root, "node_modules", name), join(modules, name))
  }
  const write: ClientProject["write"] = (name, text) => {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
  const run: ClientProject["run"] = (program, ...args) => {
    try {
      const { VITEST: _, ...env } = process.env
      const options = { cwd: directory, encoding: "utf8", stdio: "pipe", env } as const
      return { ok: true, output: execFileSync(process.execPath, [program, ...args], options) }
    } catch (error) {
      const { stderr, stdout } = Object(error)
      return { ok: false, output: `${stdout}${stderr}` }
    }
  }
  write("package.json", '{"type":"module"}')
  return {
    directory,
    write,
    run,
    compile: (names) => {
      write("tsconfig.json", JSON.stringify({ compilerOptions, files: names }))
      return run(join(root, "node_modules/typescript/bin/tsc"))
    },
    remove: () => rmSync(directory, { recursive: true })
  }
}
