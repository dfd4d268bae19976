import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript5"
import { programPath } from "../../src/layers/DashboardFilesEsbuild.ts"

/*
 * Builds the package's dist/ (`npm run build:client`), or that of another folder.
 *
 * The client and its tools are compiled file by file, and stay readable. The Quarry of tests is one bundle with
 * everything it needs, because the package has no dependencies. The client for Effect and its Quarry of tests share one
 * chunk, so that both have the same error classes, and leave `effect` to the program, whose clock and services they use.
 */

const here = import.meta.dirname
const root = join(here, "../..")

/** The packages whose code is in the bundle, and which ask that their license goes with it. */
const bundledPackages = ["effect", "@effect/platform-node", "entities", "tldts", "tldts-core"]

const typescript = join(root, "node_modules/typescript/bin/tsc")

const compile = (project: string, outDir: string): void => {
  execFileSync(process.execPath, [typescript, "-p", join(here, project), "--outDir", outDir], { stdio: "inherit" })
}

const bundle = (...args: ReadonlyArray<string>): void => {
  const flags = ["--bundle", "--format=esm", "--platform=node", "--target=es2022", "--tsconfig-raw={}"]
  const output = ["--legal-comments=none", "--log-level=warning"]
  execFileSync(programPath(), [...args, ...flags, ...output], { cwd: root, stdio: "inherit" })
}

const relativeImport = /(?:from |import\()"(\.[^"]*)"/g

/** Deletes the declarations that no declaration of `entries` refers to. */
const keepReachable = (folder: string, entries: ReadonlyArray<string>): void => {
  const reached = new Set<string>()
  const visit = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(relativeImport)) {
      visit(join(dirname(file), path.replace(/\.ts$/, ".d.ts")))
    }
  }
  entries.forEach(visit)
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".d.ts") && !reached.has(join(folder, name))) rmSync(join(folder, name))
  }
}

/** The client for Effect and its Quarry of tests: two bundles with a shared chunk, and declarations of what they show. */
const buildEffect = (outDir: string): void => {
  const sources = join(here, "src/effect")
  const names = ["index", "testing"]
  bundle(
    ...names.map((name) => join(sources, `${name}.ts`)),
    "--splitting",
    "--external:effect",
    "--external:effect/*",
    "--chunk-names=shared-[hash]",
    `--outdir=${outDir}`
  )
  const types = join(outDir, "types")
  compile("tsconfig.effect.json", types)
  const declarations = join(types, "clients/typescript/src/effect")
  for (const name of names) {
    writeFileSync(join(outDir, `${name}.d.ts`), `export * from "./types/clients/typescript/src/effect/${name}.js"\n`)
  }
  keepReachable(
    types,
    names.map((name) => join(declarations, `${name}.d.ts`))
  )
}

/** The declarations of one file by itself, without those of the server's modules that it imports. */
const declare = (file: string): string => {
  const { diagnostics, outputText } = ts.transpileDeclaration(readFileSync(file, "utf8"), { fileName: file })
  if (diagnostics?.length) throw new Error(String(diagnostics[0]?.messageText))
  return outputText
}

const licenses = (): string =>
  bundledPackages
    .map((name) => `${name}\n\n${readFileSync(join(root, "node_modules", name, "LICENSE"), "utf8").trim()}\n`)
    .join(`\n${"-".repeat(80)}\n\n`)

/** TypeScript leaves the extensions of declarations as they are in the sources. */
const renameImports = (outDir: string): void => {
  for (const name of readdirSync(outDir, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".d.ts")) continue
    const file = join(outDir, name)
    const text = readFileSync(file, "utf8")
    writeFileSync(file, text.replaceAll(/((?:from |import\()"\.[^"]*)\.ts"/g, '$1.js"'))
  }
}

export const build = (outDir: string): void => {
  rmSync(outDir, { recursive: true, force: true })
  compile("tsconfig.build.json", outDir)
  buildEffect(join(outDir, "effect"))
  bundle(join(here, "src/testing/index.ts"), "--minify", `--outfile=${join(outDir, "testing/index.js")}`)
  writeFileSync(join(outDir, "testing/index.d.ts"), declare(join(here, "src/testing/index.ts")))
  for (const folder of ["testing", "effect"]) writeFileSync(join(outDir, folder, "LICENSES.txt"), licenses())
  renameImports(outDir)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build(resolve(process.argv[2] ?? join(here, "dist")))
