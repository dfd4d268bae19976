import { readdirSync, readFileSync } from "node:fs"

/** Clock ticks of /proc in a second, on every Linux that Node runs on. */
const ticksPerSecond = 100

interface Times {
  readonly parent: number
  /** Milliseconds in user and kernel mode of the process and its threads. */
  readonly ownMs: number
  /** The same for its children that have exited. */
  readonly endedMs: number
}

const timesOf = (pid: number | string): Times | undefined => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ")
      .map(Number)
    const sumMs = (one: number, other: number) => (((fields[one] ?? 0) + (fields[other] ?? 0)) * 1000) / ticksPerSecond
    return { parent: fields[1] ?? 0, ownMs: sumMs(11, 12), endedMs: sumMs(13, 14) }
  } catch {
    // A process may exit after it was listed. Its time is then included in its parent's.
    return undefined
  }
}

/** CPU time that a process and all its children have used so far, including children that have exited. */
export const cpuMs = (pid: number): number => {
  const own = timesOf(pid)
  if (own === undefined) return 0
  const children = readdirSync("/proc")
    .filter((name) => /^[0-9]+$/.test(name))
    .map(timesOf)
    .filter((times) => times?.parent === pid)
  return children.reduce((sum, times) => sum + (times?.ownMs ?? 0), own.ownMs + own.endedMs)
}

/** Resident memory of a process. */
export const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024
