import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit } from "effect"
import { freePort as findPort } from "../servers/freePort.ts"

/** The output of a process that has ended. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Spawned {
  readonly pid: number
  /** Returns stdout so far, once it contains `text` or the process has ended. */
  readonly said: (text: string | RegExp) => Effect.Effect<string>
  readonly isRunning: () => boolean
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Effect.Effect<Ended>
}

/**
 * Starts a process of this checkout. Of the test's environment it gets only the path. It has no private listener unless
 * the test sets a port, and no delay before draining. Killed with the scope.
 */
export const spawned = (
  file: "src/main.ts" | "src/cli.ts",
  args: ReadonlyArray<string>,
  env: Record<string, string>,
  maxFiles?: number
) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      // Disables optimized compilation of the embedded database in the background, which takes a third of the CPU time
      // of a start. These processes live only for seconds.
      const command = [process.execPath, "--liftoff-only", file, ...args]
      const [program = "", ...rest] =
        maxFiles === undefined ? command : ["sh", "-c", `ulimit -n ${maxFiles}; exec "$@"`, "sh", ...command]
      const child = spawn(program, rest, {
        env: {
          PATH: process.env.PATH,
          NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
          ADMIN_PORT: "0",
          DRAIN_DELAY: "0",
          ...env
        }
      })
      return { child, spawned: watch(child) }
    }),
    ({ child, spawned }, exit) =>
      Effect.sync(() => child.kill("SIGKILL")).pipe(
        Effect.andThen(spawned.ended),
        Effect.tap((ended) => Effect.sync(() => Exit.isFailure(exit) && show([file, ...args].join(" "), ended)))
      )
  ).pipe(Effect.map(({ spawned }) => spawned))

/** Starts the server on a free port and waits until it listens. Killed with the scope. */
export const startServer = Effect.fnUntraced(function* (settings: Record<string, string>, maxFiles?: number) {
  const port = yield* freePort
  const env = { LOG_FORMAT: "json", PORT: `${port}`, ...settings }
  const server = yield* spawned("src/main.ts", [], env, maxFiles)
  const started = yield* server.said("Quarry listens at ")
  if (!started.includes("Quarry listens at ")) yield* Effect.die(new Error("the server ended before it listened"))
  return { server, started, port, origin: `http://localhost:${port}` }
})

/** Maximum characters of a log to print. */
const maxShown = 20_000

/** Prints the output of a process, to explain a failed test. */
const show = (command: string, { code, stderr, stdout }: Ended): void =>
  console.error(`${command} ended with ${code}:\n${`${stdout}\n${stderr}`.trim().slice(-maxShown)}`)

/** Collects the output of a process until it ends. */
export const watch = (child: ChildProcess): Spawned => {
  const output = { stdout: "", stderr: "" }
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output.stdout += text))
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output.stderr += text))
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, ...output })))
  const said = (text: string | RegExp) =>
    new Promise<string>((resolve) => {
      const look = () =>
        (typeof text === "string" ? output.stdout.includes(text) : text.test(output.stdout)) && resolve(output.stdout)
      child.stdout?.on("data", look)
      child.on("close", () => resolve(output.stdout))
      look()
    })
  return {
    pid: child.pid ?? -1,
    said: (text) => Effect.promise(() => said(text)),
    isRunning: () => child.exitCode === null && child.signalCode === null,
    kill: (signal) => void child.kill(signal),
    ended: Effect.promise(() => ended)
  }
}

/** A temporary directory in `parent`, removed with the scope. */
export const temporaryDirectoryIn = (parent: string) =>
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(parent, `quarry-${process.env.QUARRY_TEST_RUN ?? ""}`))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )

export const temporaryDirectory = temporaryDirectoryIn(tmpdir())

/** A free loopback port. */
export const freePort = Effect.promise(findPort)
