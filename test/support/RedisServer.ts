import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { describe } from "@effect/vitest"
import { Redacted } from "effect"

const installed = spawnSync("redis-server", ["--version"]).status === 0
if (!installed && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error("QUARRY_REQUIRE_SERVICES=1, but there is no redis-server on the PATH")
}

/** A group of tests that starts Redis servers, and says so when it is skipped for want of the program. */
export const describeWithRedis = (name: string, tests: () => void): void => {
  const title = installed ? name : `${name} (skipped: needs redis-server 7+ on the PATH)`
  describe.skipIf(!installed)(title, tests)
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  if (address === null || typeof address === "string") throw new Error("no port")
  return address.port
}

const answersPing = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"))
    socket.once("data", () => resolve(true)).once("error", () => resolve(false))
    socket.once("data", () => socket.destroy())
  })

/** Waits until `ready` says so; a server that never is fails the test by its time. */
const until = async (ready: () => Promise<boolean>): Promise<void> => {
  while (!(await ready())) await sleep(20)
}

/** A Redis server of a test's own, which the test may stop, freeze and start again on the same port. */
export class RedisServer {
  readonly port: number
  private readonly args: ReadonlyArray<string>
  private process: ChildProcess | undefined

  private constructor(port: number, args: ReadonlyArray<string>) {
    this.port = port
    this.args = args
  }

  static async make(...args: ReadonlyArray<string>): Promise<RedisServer> {
    return new RedisServer(await freePort(), args)
  }

  get address(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  get url(): Redacted.Redacted {
    return Redacted.make(this.address)
  }

  async start(): Promise<void> {
    const fixed = ["--port", String(this.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    this.process = spawn("redis-server", [...fixed, ...this.args], { stdio: "ignore" })
    await until(() => answersPing(this.port))
  }

  signal(name: NodeJS.Signals): void {
    this.process?.kill(name)
  }

  /** Ends it at once, frozen or not. */
  async stop(): Promise<void> {
    const { process } = this
    this.process = undefined
    if (process === undefined || process.exitCode !== null || process.signalCode !== null) return
    const ended = once(process, "exit")
    process.kill("SIGKILL")
    await ended
  }

  async cli(...args: ReadonlyArray<string>): Promise<string> {
    return (await promisify(execFile)("redis-cli", ["-p", String(this.port), ...args])).stdout
  }
}

/** Three servers that make up a Redis Cluster. */
export class RedisCluster {
  readonly nodes: ReadonlyArray<RedisServer>
  private readonly directory: string

  private constructor(nodes: ReadonlyArray<RedisServer>, directory: string) {
    this.nodes = nodes
    this.directory = directory
  }

  static async make(): Promise<RedisCluster> {
    const directory = await mkdtemp(join(tmpdir(), "quarry-redis-"))
    const nodes: Array<RedisServer> = []
    for (const name of ["a", "b", "c"]) {
      const clustered = ["--cluster-enabled", "yes", "--cluster-config-file", `${name}.conf`, "--dir", directory]
      nodes.push(await RedisServer.make(...clustered, "--cluster-port", String(await freePort())))
    }
    return new RedisCluster(nodes, directory)
  }

  get url(): Redacted.Redacted {
    return Redacted.make(this.nodes.map(({ address }) => address).join(","))
  }

  async start(): Promise<void> {
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
