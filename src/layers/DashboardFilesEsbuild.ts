import { execFile } from "node:child_process"
import { createRequire } from "node:module"
import { join } from "node:path"
import { promisify } from "node:util"
import { Duration, Effect, Layer } from "effect"
import { rootCauseMessage } from "../domain/rootCause.ts"
import { DashboardFiles, DashboardUnavailable } from "../services/DashboardFiles.ts"

/**
 * Bundles the dashboard when the process starts, so that nothing has to be built before `npm start`. The bundler is a
 * program of its own: its memory is given back when it ends. It reads the sources and writes to its stdout alone, so that
 * a read-only file system is enough.
 */

const folder = join(import.meta.dirname, "../dashboard")

const limits = {
  time: Duration.seconds(30),
  outputBytes: 4 * 1024 * 1024
}

/** The bundler's program for this machine. Its package `esbuild` would run a script at each installation. */
export const programPath = (): string => {
  const file = process.platform === "win32" ? "esbuild.exe" : "bin/esbuild"
  return createRequire(import.meta.url).resolve(`@esbuild/${process.platform}-${process.arch}/${file}`)
}

/** Flags instead of a tsconfig.json: the one of the dashboard extends a file that the image does not have. */
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
    Effect.logError(`The dashboard could not be made, and /dashboard answers 503. Everything else works: ${message}`)
  )
)

/** Begins at once, and the start of the process does not wait for it. */
export const layer = Layer.effect(
  DashboardFiles,
  Effect.gen(function* () {
    const files = yield* Effect.cached(make)
    yield* Effect.forkScoped(Effect.ignore(files))
    return files
  })
)
