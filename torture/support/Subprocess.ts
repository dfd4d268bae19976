import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { Readable } from "node:stream"
import { Effect } from "effect"

export interface Subprocess {
  readonly pid: number
  readonly signal: (name: NodeJS.Signals) => void
  /** The exit code, or the signal that killed it. */
  readonly ended: Effect.Effect<number | NodeJS.Signals | null>
  readonly isRunning: () => boolean
}

export interface SubprocessOptions {
  readonly env?: Record<string, string>
  readonly onLine?: (line: string) => void
  /** Receives each line that the process writes to file descriptor 3. */
  readonly onReport?: ((line: string) => void) | undefined
}

/** A child process that passes each line of output to `onLine`. Killed with the scope, even if frozen. */
export const start = (command: string, args: ReadonlyArray<string>, options: SubprocessOptions = {}) =>
  Effect.acquireRelease(
    Effect.sync((): Subprocess => {
      const child = spawn(command, args, {
        env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...options.env },
        stdio: ["ignore", "pipe", "pipe", options.onReport === undefined ? "ignore" : "pipe"]
      })
      const lines = (stream: unknown, take: ((line: string) => void) | undefined): void => {
        if (stream instanceof Readable) createInterface(stream).on("line", (line) => take?.(line))
      }
      lines(child.stdout, options.onLine)
      lines(child.stderr, options.onLine)
      lines(child.stdio[3], options.onReport)
      const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
        child.on("error", (error) => {
          options.onLine?.(String(error))
          resolve(null)
        })
        child.on("close", (code, signal) => {
          options.onLine?.(`ended with ${code ?? signal}`)
          resolve(code ?? signal)
        })
      })
      return {
        pid: child.pid ?? -1,
        signal: (name) => void child.kill(name),
        ended: Effect.promise(() => ended),
        isRunning: () => child.exitCode === null && child.signalCode === null
      }
    }),
    (it) =>
      Effect.andThen(
        Effect.sync(() => it.signal("SIGKILL")),
        it.ended
      )
  )

/** Open file descriptors of a process. */
export const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** Clock ticks per second in /proc, on every Linux that Node supports. */
const ticksPerSecond = 100

/** CPU time of a process in milliseconds, in user and kernel mode. */
export const cpuMs = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ")
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond
}

/** Resident memory of a process in MiB. Undefined if it has ended. */
export const residentMib = (pid: number): number | undefined => {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
    return kib === undefined ? undefined : Math.round(Number(kib) / 1024)
  } catch {
    return undefined
  }
}
