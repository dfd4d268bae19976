import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { mkdir, rm } from "node:fs/promises"
import { connect, createServer, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { describe } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { freePort } from "./freePort.ts"

/** True if servers can be started here. */
export const redisInstalled = spawnSync("redis-server", ["--version"]).status === 0
if (!redisInstalled && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error("QUARRY_REQUIRE_SERVICES=1, but there is no redis-server on the PATH")
}

/** A group of tests that start Redis servers. If the program is missing, it is skipped with a message. */
export const describeWithRedis = (name: string, tests: () => void): void => {
  const title = redisInstalled ? name : `${name} (needs redis-server 7 or later on the PATH)`
  describe.skipIf(!redisInstalled)(title, tests)
}

const answersPing = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"))
    socket.once("data", () => resolve(true)).once("error", () => resolve(false))
    socket.once("data", () => socket.destroy())
  })

/** Waits until `ready` returns true. Otherwise the test fails with a timeout. */
const until = async (ready: () => Promise<boolean>): Promise<void> => {
  while (!(await ready())) await sleep(20)
}

/** A separate Redis server, which a test may stop, freeze and restart on the same port. */
export class RedisServer {
  readonly port: number
  private readonly password: string
  private readonly args: ReadonlyArray<string>
  private process: ChildProcess | undefined

  private constructor(port: number, password: string, args: ReadonlyArray<string>) {
    this.port = port
    this.password = password
    this.args = ["--port", String(port), "--requirepass", password, "--save", "", "--appendonly", "no", ...args]
  }

  /** Without a password if it is empty. */
  static async make(password = "", ...args: ReadonlyArray<string>): Promise<RedisServer> {
    return new RedisServer(await freePort(), password, args)
  }

  /** The server's URL, optionally with a wrong password. */
  url(password = this.password): Redacted.Redacted {
    return Redacted.make(`redis://:${encodeURIComponent(password)}@127.0.0.1:${this.port}`)
  }

  private get runs(): boolean {
    return this.process !== undefined && this.process.exitCode === null && this.process.signalCode === null
  }

  /** Starts the server if it is not running. Tries again if it exits before it responds. */
  async start(): Promise<void> {
    await until(async () => {
      if (!this.runs) this.process = spawn("redis-server", ["--bind", "127.0.0.1", ...this.args], { stdio: "ignore" })
      return (await answersPing(this.port)) && this.runs
    })
  }

  /** The server's process id. -1 if it is not running. */
  get pid(): number {
    return this.process?.pid ?? -1
  }

  signal(name: NodeJS.Signals): void {
    this.process?.kill(name)
  }

  /** Kills the server, even if it is frozen. */
  async stop(): Promise<void> {
    const { process } = this
    this.process = undefined
    if (process === undefined || process.exitCode !== null || process.signalCode !== null) return
    const ended = once(process, "exit")
    process.kill("SIGKILL")
    await ended
  }

  async cli(...args: ReadonlyArray<string>): Promise<string> {
    const login = this.password === "" ? [] : ["--no-auth-warning", "-a", this.password]
    return (await promisify(execFile)("redis-cli", ["-p", String(this.port), ...login, ...args])).stdout
  }
}

/** An address that forwards to a server, which can be changed, and can be made silent. */
export class RedisRoute {
  private readonly port: number
  target: RedisServer
  private readonly listener: Server
  private sockets: ReadonlyArray<Socket> = []

  private constructor(listener: Server, port: number, target: RedisServer) {
    this.listener = listener
    this.port = port
    this.target = target
    listener.on("connection", (client) => {
      const upstream = connect(this.target.port, "127.0.0.1")
      for (const socket of [client, upstream]) socket.on("error", () => socket.destroy())
      client.pipe(upstream).pipe(client)
      this.sockets = [...this.sockets, client, upstream]
    })
  }

  static async make(target: RedisServer): Promise<RedisRoute> {
    const port = await freePort()
    const listener = createServer().listen(port, "127.0.0.1")
    await once(listener, "listening")
    return new RedisRoute(listener, port, target)
  }

  url(): Redacted.Redacted {
    return Redacted.make(`redis://127.0.0.1:${this.port}`)
  }

  /** Silently drops everything on the existing connections from now on. */
  silence(): void {
    for (const socket of this.sockets) socket.unpipe()
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy()
    this.listener.close()
  }
}

/** Three servers that form a Redis Cluster. */
export class RedisCluster {
  readonly nodes: ReadonlyArray<RedisServer>
  private readonly directory: string

  private constructor(nodes: ReadonlyArray<RedisServer>, directory: string) {
    this.nodes = nodes
    this.directory = directory
  }

  static async make(): Promise<RedisCluster> {
    const directory = join(tmpdir(), `quarry-redis-${randomUUID()}`)
    const nodes: Array<RedisServer> = []
    for (const name of ["a", "b", "c"]) {
      const clustered = ["--cluster-enabled", "yes", "--cluster-config-file", `${name}.conf`, "--dir", directory]
      nodes.push(await RedisServer.make("p@ss:w,rd", ...clustered, "--cluster-port", String(await freePort())))
    }
    return new RedisCluster(nodes, directory)
  }

  /** Two of the three nodes: the cluster announces the third. */
  url(): Redacted.Redacted {
    return Redacted.make(
      this.nodes
        .slice(0, 2)
        .map((node) => Redacted.value(node.url()))
        .join(",")
    )
  }

  async start(): Promise<void> {
    await mkdir(this.directory)
    await Promise.all(this.nodes.map((node) => node.start()))
    const addresses = this.nodes.map(({ port }) => `127.0.0.1:${port}`)
    await this.nodes[0]?.cli("--cluster", "create", ...addresses, "--cluster-yes")
    for (const node of this.nodes) {
      await until(async () => (await node.cli("cluster", "info")).includes("cluster_state:ok"))
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()))
    await rm(this.directory, { recursive: true })
  }
}

/** A separate, running Redis server, removed with the scope. */
export const redisServer = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = await RedisServer.make()
    await server.start()
    return server
  }),
  (server) => Effect.promise(() => server.stop())
)
