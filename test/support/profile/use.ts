import type { ChildProcess } from "node:child_process"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { readFileSync } from "node:fs"
import { basename } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { startedChannel } from "./started.ts"

/** What a test file used, from its first hook to its last. */
export interface Use {
  /** CPU seconds of the worker, with the compilation of what it imported while tests ran. */
  readonly workerSeconds: number
  /** CPU seconds of the processes that it started and that have ended. Linux only. */
  readonly startedSeconds: number
  /** Number of programs started, by name, and of databases and stores. */
  readonly started: Readonly<Record<string, number>>
}

declare module "vitest" {
  interface TaskMeta {
    use?: Use
  }
}

/** Ticks of `/proc/<pid>/stat` per second, a constant of Linux's interface to programs. */
const ticksPerSecond = 100

/** Fields 16 and 17 of `proc(5)`, counted behind the name of the program, which may contain spaces. */
const secondsOfEndedChildren = (): number => {
  try {
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") ?? []
    return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond
  } catch {
    return 0
  }
}

const secondsOfWorker = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1e6
}

/** A script is named instead of Node, and a program instead of its launcher for another user. */
const nameOf = ({ spawnargs, spawnfile }: ChildProcess): string => {
  const program = basename(spawnfile ?? "")
  if (program === "setpriv") return basename(spawnargs.find((it, index) => index > 0 && !it.startsWith("-")) ?? program)
  if (program !== basename(process.execPath)) return program
  return basename(spawnargs.find((it, index) => index > 0 && /\.[cm]?[jt]s$/.test(it)) ?? program)
}

const children = new Set<ChildProcess>()
const others: Array<string> = []
const onChild = (message: unknown) => void children.add((message as { readonly process: ChildProcess }).process)
const onOther = (message: unknown) => void others.push(String(message))

let before = { worker: 0, ended: 0 }

beforeAll(() => {
  children.clear()
  others.length = 0
  before = { worker: secondsOfWorker(), ended: secondsOfEndedChildren() }
  subscribe("child_process", onChild)
  subscribe(startedChannel, onOther)
})

// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the first parameter's source, and accepts only a pattern.
afterAll(({}, file) => {
  unsubscribe("child_process", onChild)
  unsubscribe(startedChannel, onOther)
  const started: Record<string, number> = {}
  for (const name of [...Array.from(children, nameOf), ...others]) started[name] = (started[name] ?? 0) + 1
  file.meta.use = {
    workerSeconds: secondsOfWorker() - before.worker,
    startedSeconds: secondsOfEndedChildren() - before.ended,
    started
  }
})
