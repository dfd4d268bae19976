import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { OperatorError } from "../../../domain/OperatorError.ts"
import { rootCauseMessage } from "../../../domain/rootCause.ts"

export class StorageUnavailable extends OperatorError("StorageUnavailable") {}

const lockName = "quarry.pid"

export const unusableDirectory = (dataDir: string, error: unknown): StorageUnavailable =>
  new StorageUnavailable({
    message:
      isCode(error, "ENOSPC") || isCode(error, "EDQUOT")
        ? `DATA_DIR ${dataDir} cannot be used: its disk is full. Free space there and start again.`
        : `DATA_DIR ${dataDir} cannot be used: ${rootCauseMessage(error)}. ` +
          "Set it to a writable directory that belongs to the user of this process."
  })

export const isMade = (dataDir: string): boolean => {
  const directory = join(dataDir, "postgres")
  return existsSync(directory) && readdirSync(directory).length > 0
}

/** Two processes would corrupt an embedded database. Replaces stale locks. */
export const lockDirectory = (dataDir: string): Effect.Effect<void, StorageUnavailable, Scope.Scope> => {
  const path = join(dataDir, lockName)
  return Effect.acquireRelease(
    Effect.try({
      try: () => claim(dataDir, path),
      catch: (error) => unusableDirectory(dataDir, error)
    }).pipe(Effect.flatMap((holder) => (holder === undefined ? Effect.void : Effect.fail(inUse(dataDir, holder))))),
    () => Effect.sync(() => rmSync(path, { force: true }))
  )
}

const inUse = (dataDir: string, holder: string): StorageUnavailable =>
  new StorageUnavailable({
    message:
      `The data directory ${dataDir} is in use by process ${holder}. Stop that process first, ` +
      "set DATA_DIR to another directory, or use a Postgres server (DATABASE_URL) for several processes."
  })

/** Undefined if this process now holds the lock, otherwise the pid of its holder. */
const claim = (dataDir: string, path: string): string | undefined => {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const mine = signature(process.pid)
  for (;;) {
    try {
      writeFileSync(path, mine, { flag: "wx", mode: 0o600 })
      return undefined
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error
    }
    const theirs = read(path)
    if (theirs === undefined) continue
    const [pid = ""] = theirs.split(" ")
    if (isAlive(theirs, Number(pid))) return pid
    removeStale(path, theirs)
  }
}

/** If another process has renewed the lock meanwhile, restores the fresh lock. */
const removeStale = (path: string, stale: string): void => {
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
    if (read(aside) !== stale) linkSync(aside, path)
  } catch (error) {
    if (!isCode(error, "ENOENT") && !isCode(error, "EEXIST")) throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

/** The fields after the name of the program: the state, and 19 fields later the start time. Only Linux has them. */
const statOf = (pid: number): ReadonlyArray<string> => {
  const stat = read(`/proc/${pid}/stat`) ?? ""
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
}

/** Pids are reused, especially in containers, so the start time is added where available. */
const signature = (pid: number): string => {
  const startedAt = statOf(pid)[19]
  return startedAt === undefined ? `${pid}` : `${pid} ${startedAt}`
}

/** A process that has ended keeps its pid until its parent reads its exit code, which some parents never do. */
const hasEnded = (pid: number): boolean => ["Z", "X"].includes(statOf(pid)[0] ?? "")

const isAlive = (theirs: string, pid: number): boolean => {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (!isCode(error, "EPERM")) return false
  }
  return signature(pid) === theirs && !hasEnded(pid)
}

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8")
  } catch (error) {
    if (isCode(error, "ENOENT")) return undefined
    throw error
  }
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code
