import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { promisify } from "node:util"
import { Duration, Effect, Layer, Schema } from "effect"
import { rootCauseMessage } from "../domain/rootCause.ts"
import {
  ConsoleFiles,
  DashboardFiles,
  DashboardUnavailable,
  type Files
} from "../services/operations/DashboardFiles.ts"

// Bundles at startup, so `npm start` needs no build. A separate process does it, so its memory is freed.

const sources = join(import.meta.dirname, "../dashboard")

interface Entries {
  readonly script: string
  readonly style: string
}

const timeLimit = Duration.seconds(30)

/** The binary for this machine, because the package `esbuild` itself would run an install script. */
export const programPath = (): string => {
  const file = process.platform === "win32" ? "esbuild.exe" : "bin/esbuild"
  return createRequire(import.meta.url).resolve(`@esbuild/${process.platform}-${process.arch}/${file}`)
}

/** Flags instead of a tsconfig.json, because the dashboard's extends a file that is not in the image. */
export const flags = [
  "--bundle",
  "--splitting",
  "--entry-names=[hash]",
  "--chunk-names=[hash]",
  "--minify",
  "--format=esm",
  "--target=es2022",
  "--jsx=automatic",
  "--jsx-import-source=preact",
  "--tsconfig-raw={}",
  "--legal-comments=none",
  "--log-level=error"
]

const run = promisify(execFile)

/** The part of a metafile that describes the written files. */
const Outputs = Schema.Record(
  Schema.String,
  Schema.Struct({
    entryPoint: Schema.optionalKey(Schema.String),
    imports: Schema.Array(Schema.Struct({ path: Schema.String, kind: Schema.String }))
  })
)

const decodeMetafile = Schema.decodeSync(Schema.fromJsonString(Schema.Struct({ outputs: Outputs })))

const importsOf = (outputs: typeof Outputs.Type, path: string): ReadonlyArray<string> =>
  (outputs[path]?.imports ?? [])
    .filter(({ kind }) => kind === "import-statement")
    .flatMap(({ path }) => [path, ...importsOf(outputs, path)])

const bundleInto = async (entries: Entries, folder: string, signal: AbortSignal): Promise<Files> => {
  const metafile = join(folder, "meta.json")
  const args = [entries.script, entries.style, ...flags, `--outdir=${folder}/files`, `--metafile=${metafile}`]
  await run(programPath(), args, { cwd: sources, signal, timeout: Duration.toMillis(timeLimit) })
  const { outputs } = decodeMetafile(await readFile(metafile, "utf8"))
  const outputOf = (entry: string) => Object.keys(outputs).find((path) => outputs[path]?.entryPoint === entry) ?? ""
  const texts = await Promise.all(
    Object.keys(outputs).map(async (path) => [basename(path), await readFile(join(sources, path), "utf8")] as const)
  )
  const script = outputOf(entries.script)
  return {
    texts: new Map(texts),
    script: basename(script),
    imports: [...new Set(importsOf(outputs, script))].map((path) => basename(path)),
    style: basename(outputOf(entries.style))
  }
}

const make = (entries: Entries, path: string) =>
  Effect.acquireUseRelease(
    Effect.tryPromise(() => mkdtemp(join(tmpdir(), "quarry-dashboard-"))),
    (folder) => Effect.tryPromise((signal) => bundleInto(entries, folder, signal)),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
  ).pipe(
    Effect.mapError((error) => new DashboardUnavailable({ message: rootCauseMessage(error) })),
    Effect.tapError(({ message }) =>
      Effect.logError(
        `The pages of ${path} could not be built, so it responds 503 and everything else works: ${message}`
      )
    )
  )

/** Starts bundling at once; startup does not wait for it. */
const layerOf = (files: typeof DashboardFiles, entries: Entries, path: string) =>
  Layer.effect(
    files,
    Effect.gen(function* () {
      const files = yield* Effect.cached(make(entries, path))
      yield* Effect.forkScoped(Effect.ignore(files))
      return files
    })
  )

export const layer = layerOf(DashboardFiles, { script: "main.tsx", style: "style.css" }, "/dashboard")

export const consoleLayer = layerOf(
  ConsoleFiles,
  { script: "operator/main.tsx", style: "operator/style.css" },
  "/dashboard/operator"
)
