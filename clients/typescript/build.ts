import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript5"
import { version } from "../../src/domain/version.ts"
import { programPath } from "../../src/layers/DashboardFilesEsbuild.ts"

/*
 * Builds the package's dist/ (`npm run build:client`), or that of another folder.
 *
 * The client, its tools and the API's definition are compiled file by file, and stay readable. The Quarry of tests is one
 * bundle with everything it needs, because the package has no dependencies.
 */

const here = import.meta.dirname
const root = join(here, "../..")

/** The packages whose code is in the bundle, and which ask that their licence goes with it. */
const bundledPackages = ["effect", "entities", "tldts", "tldts-core"]

const typescript = join(root, "node_modules/typescript/bin/tsc")

const compile = (project: string, outDir: string): void => {
  execFileSync(process.execPath, [typescript, "-p", join(here, project), "--outDir", outDir], { stdio: "inherit" })
}

const bundle = (entry: string, outfile: string): void => {
  const flags = ["--bundle", "--minify", "--format=esm", "--platform=node", "--target=es2022", "--tsconfig-raw={}"]
  const output = [`--outfile=${outfile}`, "--legal-comments=none", "--log-level=warning"]
  execFileSync(programPath(), [entry, ...flags, ...output], { cwd: root, stdio: "inherit" })
}

/** The declarations of one file by itself, without those of the server's modules that it imports. */
const declare = (file: string): string => {
  const { diagnostics, outputText } = ts.transpileDeclaration(readFileSync(file, "utf8"), { fileName: file })
  if (diagnostics?.length) throw new Error(String(diagnostics[0]?.messageText))
  return outputText
}

const licences = (): string =>
  bundledPackages
    .map((name) => `${name}\n\n${readFileSync(join(root, "node_modules", name, "LICENSE"), "utf8").trim()}\n`)
    .join(`\n${"-".repeat(80)}\n\n`)

/** The definition has the version of its document from a file of the repository, which the package does not have. */
const writeVersion = (outDir: string): void =>
  writeFileSync(join(outDir, "domain/version.js"), `export const version = ${JSON.stringify(version)};\n`)

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
  compile("tsconfig.effect.json", join(outDir, "effect"))
  writeVersion(join(outDir, "effect"))
  bundle(join(here, "src/testing/index.ts"), join(outDir, "testing/index.js"))
  writeFileSync(join(outDir, "testing/index.d.ts"), declare(join(here, "src/testing/index.ts")))
  writeFileSync(join(outDir, "testing/LICENSES.txt"), licences())
  renameImports(outDir)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build(resolve(process.argv[2] ?? join(here, "dist")))
