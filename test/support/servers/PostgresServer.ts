import { execFile, spawn } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { readFile } from "node:fs/promises"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { promisify } from "node:util"
import { describe } from "@effect/vitest"
import { Effect, Redacted, type Scope } from "effect"
import { freePort } from "../processes/Spawned.ts"

/** Debian installs the server's programs outside the PATH, in a directory per version. */
const versions = "/usr/lib/postgresql"
const installed = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : []
const bin = installed[0] === undefined ? undefined : join(versions, installed[0], "bin")
const pgbouncer = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].find((path) => existsSync(path))

/** True if servers can be started here. */
export const serverInstalled = bin !== undefined

const required = process.env.QUARRY_REQUIRE_SERVICES === "1"
const howToGetIt = "needs the programs of Debian's packages postgresql and pgbouncer"
if (required && (bin === undefined || pgbouncer === undefined))
  throw new Error(`QUARRY_REQUIRE_SERVICES=1: ${howToGetIt}`)

/** A group of tests that start their own database servers. If that is impossible, it is skipped with a message. */
export const describeWithServers = (name: string, tests: () => void): void => {
  const possible = bin !== undefined && pgbouncer !== undefined
  if (!possible) console.warn(`Skipped: ${name} (${howToGetIt})`)
  describe.skipIf(!possible)(possible ? name : `${name} (${howToGetIt})`, tests)
}

const execute = promisify(execFile)

/** The server refuses to run as root, so it runs as the user of its package. */
const asRoot = process.getuid?.() === 0
const id = (flag: "-u" | "-g") => Effect.promise(async () => Number((await execute("id", [flag, "postgres"])).stdout))

const run = (program: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(() =>
    asRoot
      ? execute("setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", program, ...args])
      : execute(program, [...args])
  )

const ownDirectory = Effect.acquireRelease(
  Effect.gen(function* () {
    const directory = mkdtempSync(join(tmpdir(), "quarry-postgres-"))
    chmodSync(directory, 0o700)
    if (asRoot) chownSync(directory, yield* id("-u"), yield* id("-g"))
    return directory
  }),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

export interface PostgresServer {
  readonly port: number
  readonly url: Redacted.Redacted
  /** Processes of the server, the postmaster first. */
  readonly pids: Effect.Effect<ReadonlyArray<number>>
  readonly start: Effect.Effect<void>
  readonly stop: (mode: "fast" | "immediate") => Effect.Effect<void>
  /** Kills every process of the server. It can be started again. */
  readonly kill: Effect.Effect<void>
  /** Freezes every process of the server. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
  /** Freezes the server while the effect runs. */
  readonly frozen: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Data directory. */
  readonly directory: string
  /** Starts a standby of this server, which can be promoted. */
  readonly standby: Effect.Effect<PostgresServer & { readonly promote: Effect.Effect<void> }, never, Scope.Scope>
}

/** Waits for the processes to end, because until then their memory and lock file are in use. */
const allEnded = async (pids: ReadonlyArray<number>) => {
  while (pids.some((pid) => existsSync(`/proc/${pid}`))) await setTimeout(5)
}

const serverIn = Effect.fnUntraced(function* (directory: string, settings: Readonly<Record<string, string>>) {
  const data = join(directory, "data")
  const port = yield* freePort
  const lines = Object.entries({
    port: `${port}`,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    shared_buffers: "16MB",
    ...settings
  }).map(([name, value]) => `${name} = '${value}'\n`)
  appendFileSync(join(data, "postgresql.conf"), lines.join(""))
  const control = (...args: ReadonlyArray<string>) =>
    run(join(`${bin}`, "pg_ctl"), "-D", data, "-l", join(directory, "log"), "-w", ...args)
  const stop = (mode: string) => Effect.asVoid(control("-m", mode, "stop"))
  const pids = Effect.promise(async () => {
    const postmaster = Number((await readFile(join(data, "postmaster.pid"), "utf8")).split("\n")[0])
    const { stdout } = await execute("ps", ["-o", "pid=", "--ppid", `${postmaster}`])
    return [postmaster, ...stdout.trim().split(/\s+/).map(Number)]
  })
  const signal = (name: NodeJS.Signals) =>
    Effect.map(pids, (all) => {
      for (const pid of all) {
        try {
          process.kill(pid, name)
        } catch {
          // A backend may end between listing and signaling it.
        }
      }
    })
  const freeze = signal("SIGSTOP")
  const thaw = signal("SIGCONT")
  yield* Effect.acquireRelease(control("start"), () =>
    Effect.andThen(Effect.ignoreCause(thaw), Effect.ignoreCause(stop("immediate")))
  )
  const server: Omit<PostgresServer, "standby"> = {
    port,
    directory,
    url: Redacted.make(`postgres://postgres@127.0.0.1:${port}/postgres`),
    pids,
    start: Effect.asVoid(control("start")),
    stop,
    kill: Effect.flatMap(pids, (all) =>
      Effect.andThen(
        signal("SIGKILL"),
        Effect.promise(() => allEnded(all))
      )
    ),
    freeze,
    thaw,
    frozen: (effect) =>
      Effect.acquireUseRelease(
        freeze,
        () => effect,
        () => thaw
      )
  }
  return { server, control }
})

/**
 * A separate Postgres server on a free port, removed with the scope. `settings` are those of postgresql.conf. `prepare`
 * gets the empty data directory.
 */
export const postgresServerWith = Effect.fnUntraced(function* (
  settings: Readonly<Record<string, string>>,
  prepare: (directory: string) => Effect.Effect<void, never, Scope.Scope> = () => Effect.void
): Effect.fn.Return<PostgresServer, never, Scope.Scope> {
  const directory = yield* ownDirectory
  yield* prepare(directory)
  yield* run(join(`${bin}`, "initdb"), "-D", join(directory, "data"), "-A", "trust", "-U", "postgres", "--no-sync")
  const { server } = yield* serverIn(directory, settings)
  const standby = Effect.gen(function* () {
    const directory = yield* ownDirectory
    const address = ["-h", "127.0.0.1", "-p", `${server.port}`, "-U", "postgres"]
    yield* run(
      join(`${bin}`, "pg_basebackup"),
      ...address,
      "-D",
      join(directory, "data"),
      "-R",
      "-X",
      "stream",
      "-c",
      "fast"
    )
    const { control, server: other } = yield* serverIn(directory, settings)
    return { ...other, standby: Effect.die("a standby has none"), promote: Effect.asVoid(control("promote")) }
  })
  return { ...server, standby }
})

/** A Postgres server with a test's minimal resources. */
export const postgresServer = postgresServerWith({})

/** Forwards a port to another, which can be changed. A change breaks open connections. */
export const proxy = Effect.fnUntraced(function* (first: number) {
  let target = first
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1")
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket
        .on("error", () => {})
        .on("close", () => {
          open.delete(socket)
          client.destroy()
          upstream.destroy()
        })
    }
    client.pipe(upstream)
    upstream.pipe(client)
  })
  const port = yield* freePort
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))),
    () =>
      Effect.sync(() => {
        server.close()
        for (const socket of open) socket.destroy()
      })
  )
  const breakAll = Effect.sync(() => {
    for (const socket of open) socket.destroy()
  })
  return {
    url: Redacted.make(`postgres://postgres@127.0.0.1:${port}/postgres`),
    switchTo: (port: number) =>
      Effect.andThen(
        Effect.sync(() => (target = port)),
        breakAll
      )
  }
})

/** PgBouncer in transaction mode, with fewer connections to the server than from clients. */
export const pooler = Effect.fnUntraced(function* (
  server: PostgresServer,
  serverConnections: number,
  settings: ReadonlyArray<string> = []
) {
  const directory = yield* ownDirectory
  const port = yield* freePort
  const file = join(directory, "pgbouncer.ini")
  writeFileSync(
    file,
    [
      "[databases]",
      `postgres = host=127.0.0.1 port=${server.port} user=postgres`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = any",
      "pool_mode = transaction",
      `default_pool_size = ${serverConnections}`,
      ...settings
    ].join("\n")
  )
  if (asRoot) chownSync(file, yield* id("-u"), yield* id("-g"))
  yield* Effect.acquireRelease(
    Effect.sync(() => spawn(`${pgbouncer}`, asRoot ? ["-u", "postgres", file] : [file], { stdio: "ignore" })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  yield* accepts(port)
  return { url: Redacted.make(`postgres://postgres@127.0.0.1:${port}/postgres`) }
})

/** Polls in real time, regardless of the test's clock. */
const accepts = (port: number) =>
  Effect.promise(async () => {
    for (let attempt = 0; attempt < 100; attempt++) {
      const accepted = await new Promise<boolean>((resolve) => {
        const socket = connect(port, "127.0.0.1", () => {
          socket.destroy()
          resolve(true)
        }).on("error", () => resolve(false))
      })
      if (accepted) return
      await setTimeout(50)
    }
    throw new Error(`nothing listens at port ${port}`)
  })
