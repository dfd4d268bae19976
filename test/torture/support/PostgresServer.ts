import { execFile } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { chown, mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { freePort } from "../../support/Spawned.ts"

/** How a restart treats those who are connected: with a goodbye, or as a crash does. */
export type StopMode = "fast" | "immediate"

export interface PostgresServer {
  readonly url: Redacted.Redacted
  readonly restart: (mode: StopMode, downMs: number) => Effect.Effect<void>
  /** Stops every process of the server where it is. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
}

/** Debian keeps the server's programs off the PATH, a directory for each version. */
const debianHome = "/usr/lib/postgresql"
const homes = [
  ...(process.env.PATH ?? "").split(":"),
  ...(existsSync(debianHome) ? readdirSync(debianHome).map((version) => join(debianHome, version, "bin")) : [])
]
const home = homes.find((path) => existsSync(join(path, "initdb")) && existsSync(join(path, "pg_ctl")))

/** Whether this machine can start servers. */
export const installed = home !== undefined

const program = (name: "initdb" | "pg_ctl"): string => join(home ?? "", name)

const execute = (command: string, args: ReadonlyArray<string>): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile(command, [...args], (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${command}: ${error.message}\n${stdout}${stderr}`))
    )
  })

const isRoot = process.getuid?.() === 0

/** Postgres refuses to run as root: then its own user runs it. */
const asOwner = (command: string, args: ReadonlyArray<string>): Promise<string> =>
  isRoot
    ? execute("setpriv", ["--reuid=postgres", "--regid=postgres", "--init-groups", command, ...args])
    : execute(command, args)

const ownerIds = async (): Promise<readonly [uid: number, gid: number]> => [
  Number(await execute("id", ["-u", "postgres"])),
  Number(await execute("id", ["-g", "postgres"]))
]

/** The postmaster and its children. */
const processes = async (directory: string): Promise<ReadonlyArray<number>> => {
  const postmaster = Number((await readFile(join(directory, "postmaster.pid"), "utf8")).split("\n")[0])
  const pids = [postmaster]
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "")
    if (Number(stat.replace(/^.*\) /, "").split(" ")[1]) === postmaster) pids.push(Number(name))
  }
  return pids
}

const signalAll = async (directory: string, signal: NodeJS.Signals): Promise<void> => {
  for (const pid of await processes(directory)) {
    try {
      process.kill(pid, signal)
    } catch {
      // A backend may end between being listed and being signalled.
    }
  }
}

/** A Postgres server of the scenario's own, on a free port of the loopback, removed with the scope. */
export const start = Effect.gen(function* () {
  const port = yield* freePort
  const directory = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const path = await mkdtemp(join(tmpdir(), "quarry-postgres-"))
      if (isRoot) await chown(path, ...(await ownerIds()))
      await asOwner(program("initdb"), ["--auth=trust", "--username=quarry", "--no-sync", "-D", path])
      return path
    }),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${directory} -c max_connections=60`
  const control = (...args: ReadonlyArray<string>) =>
    Effect.promise(() => asOwner(program("pg_ctl"), ["-D", directory, "-w", "-l", join(directory, "log"), ...args]))
  yield* Effect.acquireRelease(control("start", "-o", settings), () =>
    Effect.andThen(
      Effect.promise(() => signalAll(directory, "SIGCONT")),
      control("stop", "-m", "immediate")
    )
  )
  const server: PostgresServer = {
    url: Redacted.make(`postgres://quarry@127.0.0.1:${port}/postgres`),
    restart: Effect.fnUntraced(function* (mode, downMs) {
      yield* control("stop", "-m", mode)
      yield* Effect.sleep(downMs)
      yield* control("start", "-o", settings)
    }),
    freeze: Effect.promise(() => signalAll(directory, "SIGSTOP")),
    thaw: Effect.promise(() => signalAll(directory, "SIGCONT"))
  }
  return server
})
