import { execFile } from "node:child_process"
import { createRequire } from "node:module"
import { join } from "node:path"
import { promisify } from "node:util"
import { Duration, Effect, Layer } from "effect"
import { rootCauseMessage } from "../domain/rootCause.ts"
import { DashboardFiles, DashboardUnavailable } from "../services/operations/DashboardFiles.ts"

// Bundles at startup, so `npm start` needs no build. A separate process does it, so its memory is freed.

const folder = join(import.meta.dirname, "../dashboard")

const limits = {
  time: Duration.seconds(30),
  outputBytes: 4 * 1024 * 1024
}

/** The binary for this machine, because the package `esbuild` itself would run an install script. */
export const programPath = (): string => {
  const file = process.platform === "win32" ? "esbuild.exe" : "bin/esbuild"
  return createRequire(import.meta.url).resolve(`@esbuild/${process.platform}-${process.arch}/${file}`)
}

/** Flags instead of a tsconfig.json, because the dashboard's extends a file that is not in the image. */
export const flags = [
  "--bundle",
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

const bundle = (entry: string) =>
  Effect.tryPromise({
    try: async (signal) => {
      const { stdout } = await run(programPath(), [entry, ...flags], {
        cwd: folder,
        signal,
        timeout: Duration.toMillis(limits.time),
        maxBuffer: limits.outputBytes
      })
      return stdout
    },
    catch: (error) => new DashboardUnavailable({ message: rootCauseMessage(error) ?? String(error) })
  })

const make = Effect.all({ script: bundle("main.tsx"), style: bundle("style.css") }, { concurrency: 2 }).pipe(
  Effect.tapError(({ message }) =>
    Effect.logError(
      `The dashboard could not be built, so /dashboard responds 503 and everything else works: ${message}`
    )
  )
)

/** Starts bundling at once; startup does not wait for it. */
export const layer = Layer.effect(
  DashboardFiles,
  Effect.gen(function* () {
    const files = yield* Effect.cached(make)
    yield* Effect.forkScoped(Effect.ignore(files))
    return files
  })
)
