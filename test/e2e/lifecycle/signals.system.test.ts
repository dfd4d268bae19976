import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted, Schedule, type Scope } from "effect"
import { version } from "../../../src/domain/version.ts"
import * as Audit from "../../../torture/support/Audit.ts"
import * as Client from "../../../torture/support/Client.ts"
import * as Engine from "../../../torture/support/Engine.ts"
import * as Replica from "../../../torture/support/Replica.ts"
import * as Store from "../../../torture/support/Store.ts"
import { firstProcess } from "../../support/processes/firstProcess.ts"
import { freePort } from "../../support/processes/Spawned.ts"
import { freshDatabase } from "../../support/stores/Database.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const timeout = 120_000

/** True where this machine lets the test make a PID namespace, which takes root. */
const hasNamespaces = (() => {
  try {
    execFileSync("unshare", ["--pid", "--fork", "--mount-proc", "true"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
})()

interface Program {
  readonly command: ReadonlyArray<string>
  /** The line that it prints once it serves. */
  readonly says: string
  readonly env: (port: number) => Effect.Effect<Record<string, string>, never, Scope.Scope>
  readonly path: string
}

const serverEnv = (port: number) =>
  Effect.map(EmbeddedStore.directory, (directory) => ({
    PORT: `${port}`,
    ADMIN_PORT: "0",
    DATA_DIR: directory,
    LOG_FORMAT: "json",
    DRAIN_DELAY: "0"
  }))

const server = (...command: ReadonlyArray<string>): Program => ({
  command,
  says: "Quarry listens at",
  env: serverEnv,
  path: "/openapi.json"
})

const programs: ReadonlyArray<Program> = [
  server("npm", "start"),
  server("bin/quarry-server"),
  {
    command: ["npm", "run", "traces"],
    says: "Traces at",
    env: (port) => Effect.succeed({ TRACES_PORT: `${port}` }),
    path: "/"
  }
]

/** Runs a command until it prints `says`. It has a process group of its own, which ends with the scope. */
const running = (command: ReadonlyArray<string>, env: Record<string, string>, says: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const [file = "", ...args] = command
      const child = spawn(file, args, {
        cwd: root,
        detached: true,
        env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
        stdio: ["ignore", "pipe", "inherit"]
      })
      const ended = once(child, "exit").then(([code, signal]) => ({ code, signal }))
      const lines: Array<string> = []
      await new Promise<void>((resolve, reject) => {
        createInterface(child.stdout).on("line", (line) => {
          lines.push(line)
          if (line.includes(says)) resolve()
        })
        child.once("exit", () => reject(new Error(`${command.join(" ")} ended: ${lines.join("\n")}`)))
      })
      return { child, ended: Effect.promise(() => ended) }
    }),
    ({ child }) => Effect.sync(() => killGroup(child))
  )

const killGroup = ({ pid }: ChildProcess): void => {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL")
  } catch {
    // It has ended, as it should.
  }
}

const answers = (url: string) =>
  Effect.promise(() =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false
    )
  )

describe("SIGTERM to the process that a supervisor started", () => {
  for (const { command, env, path, says } of programs) {
    const name = command.join(" ")

    it.live(
      `${name}: ends it in order, and leaves no orphan`,
      () =>
        Effect.gen(function* () {
          const port = yield* freePort
          const { child, ended } = yield* running(command, yield* env(port), says)
          assert.isTrue(yield* answers(`http://127.0.0.1:${port}${path}`))
          child.kill("SIGTERM")
          assert.deepStrictEqual(yield* ended, { code: 0, signal: null })
          assert.isFalse(yield* answers(`http://127.0.0.1:${port}${path}`))
        }),
      timeout
    )

    it.live.skipIf(!hasNamespaces)(
      `${name}: likewise as process 1 of a namespace, as in a container (needs root and unshare)`,
      () =>
        Effect.gen(function* () {
          const port = yield* freePort
          const unshare = ["unshare", "--pid", "--fork", "--mount-proc", ...command]
          const { child, ended } = yield* running(unshare, yield* env(port), says)
          assert.isTrue(yield* answers(`http://127.0.0.1:${port}${path}`))
          process.kill(firstProcess(child), "SIGTERM")
          assert.deepStrictEqual(yield* ended, { code: 0, signal: null })
        }),
      timeout
    )
  }
})

/** Searches by callers who each wait for their answer, until readiness fails: then a load balancer sends no more. */
const searchUntilDraining = Effect.fnUntraced(function* (urls: Record<"public" | "admin", string>, secret: string) {
  const client = yield* Client.make
  const received: Array<Client.Answer> = []
  let isReady = true
  const caller = (name: number) =>
    Effect.whileLoop({
      while: () => isReady,
      body: () => client.search(urls.public, secret, `caller ${name} search ${received.length} wait1000`),
      step: (answer) => void received.push(answer)
    })
  const callers = Effect.forEach(Array.from({ length: 40 }).keys(), caller, { concurrency: "unbounded" })
  const draining = answers(`${urls.admin}/readyz`).pipe(
    Effect.repeat({ until: (ready) => !ready, schedule: Schedule.spaced("50 millis") }),
    Effect.andThen(Effect.sync(() => (isReady = false)))
  )
  return { answers: received, ended: yield* Effect.forkChild(callers), draining }
})

describeWithPostgres("R54: SIGTERM twice in quick succession under load cuts no search off", () => {
  const commands = [["npm", "start"], ["bin/quarry-server"]] as const
  const cases = commands.flatMap((command) =>
    ([1, 2] as const).flatMap((workers) =>
      (["the process", "its group"] as const).map((receiver) => ({ command, workers, receiver }))
    )
  )

  it.live.each(cases.map((it) => [`${it.command.join(" ")}, WORKERS=${it.workers}, to ${it.receiver}`, it] as const))(
    "%s",
    ([, { command, receiver, workers }]) =>
      Effect.gen(function* () {
        const { url } = yield* freshDatabase
        const { secret } = yield* Store.customer(yield* Store.open(url), { quota: 1_000_000 })
        const [port, adminPort] = [yield* freePort, yield* freePort]
        const urls = { public: `http://127.0.0.1:${port}`, admin: `http://127.0.0.1:${adminPort}` }
        const env = {
          ...Replica.secrets,
          DATABASE_URL: Redacted.value(url),
          SEARXNG_URL: yield* Engine.start,
          PORT: `${port}`,
          ADMIN_PORT: `${adminPort}`,
          WORKERS: `${workers}`,
          DRAIN_DELAY: "1 second",
          LOG_LEVEL: "info",
          LOG_FORMAT: "json"
        }
        const { child, ended } = yield* running(command, env, "Quarry listens at")
        const load = yield* searchUntilDraining(urls, secret)
        const pid = child.pid ?? assert.fail("it has not started")
        const terminate = Effect.sync(() => process.kill(receiver === "the process" ? pid : -pid, "SIGTERM"))
        while (load.answers.length < 40) yield* Effect.sleep("50 millis")
        yield* terminate
        yield* load.draining
        yield* terminate
        yield* Fiber.join(load.ended)
        assert.strictEqual(Audit.tally(load.answers), `200: ${load.answers.length}`)
        assert.deepStrictEqual(yield* ended, { code: 0, signal: null })
        assert.isAtLeast(load.answers.length, 80)
      }),
    timeout
  )
})

describe("bin/quarry", () => {
  it("runs a command from any directory and by a link, on the Node that the project brings", () => {
    const directory = mkdtempSync(join(tmpdir(), "quarry-bin-"))
    try {
      const link = join(directory, "quarry")
      symlinkSync(join(root, "bin/quarry"), link)
      assert.include(execFileSync(link, ["--version"], { cwd: directory, encoding: "utf8" }), version)
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})
