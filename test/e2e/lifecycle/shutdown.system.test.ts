import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Schedule } from "effect"
import { connect, search } from "../../support/api/Wire.ts"

/** Starts the program and waits until it listens. */
const start = (graceMs: number, closingMs = 0, drainDelayMs = 0) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(
        process.execPath,
        ["test/support/processes/program.ts", ...[graceMs, closingMs, drainDelayMs].map(String)],
        {
          stdio: ["ignore", "pipe", "pipe"]
        }
      )
      const exited = once(child, "exit").then(([code, signal]) => ({ code, signal }))
      const lines: Array<string> = []
      const output = createInterface({ input: child.stdout }).on("line", (line) => lines.push(line))
      const [first] = await once(output, "line")
      const ports: { readonly public: number; readonly admin: number } = JSON.parse(String(first))
      return {
        ports,
        lines,
        signal: (signal: "SIGTERM" | "SIGINT") => Effect.sync(() => child.kill(signal)),
        exited: Effect.promise(() => exited),
        child
      }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

const readiness = (port: number) =>
  Effect.promise(async () => {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`)
    return { status: response.status, ...JSON.parse(await response.text()) }
  })

/** Readiness, once it fails. */
const unready = (port: number) =>
  Effect.repeat(readiness(port), { until: ({ status }) => status === 503, schedule: Schedule.spaced("20 millis") })

const elapsed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.timed(effect), ([duration, value]) => ({ ms: Duration.toMillis(duration), value }))

describe("a process that receives SIGTERM", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it.live(
      `${signal}: answers what it accepted, tells so on the private listener, closes its storage last, exits 0`,
      () =>
        Effect.gen(function* () {
          const server = yield* start(10_000)
          assert.deepInclude(yield* readiness(server.ports.admin), { status: 200, ready: true })
          const idle = yield* connect(server.ports.public)
          const busy = yield* connect(server.ports.public)
          yield* busy.send(search("wait 1000"))
          yield* Effect.sleep(200)
          yield* server.signal(signal)
          assert.deepStrictEqual(yield* idle.closed, [])
          assert.deepInclude(yield* readiness(server.ports.admin), { status: 503, listener: "draining" })
          const [response] = yield* busy.closed
          assert.strictEqual(response?.status, 200)
          assert.strictEqual(response?.headers.connection, "close")
          assert.deepStrictEqual(yield* server.exited, { code: 0, signal: null })
          assert.deepStrictEqual(
            server.lines.filter((line) => /^(search|storage)/.test(line)),
            ["search finished", "storage closed"]
          )
        })
    )
  }

  it.live("R54: after a SIGTERM it is not ready, and still takes requests until the delay has passed", () =>
    Effect.gen(function* () {
      const server = yield* start(10_000, 0, 2000)
      const open = yield* connect(server.ports.public)
      yield* server.signal("SIGTERM")
      const draining = yield* unready(server.ports.admin)
      assert.deepStrictEqual(draining, { status: 503, ready: false, listener: "draining" })
      // An earlier connection, which the response closes, and a new one.
      const late = yield* connect(server.ports.public)
      for (const client of [open, late]) yield* client.send(search("wait 1"))
      const responses = [...(yield* open.closed), ...(yield* late.closed)]
      assert.deepStrictEqual(
        responses.map(({ headers, status }) => [status, headers.connection]),
        [
          [200, "close"],
          [200, "close"]
        ]
      )
      const { ms, value } = yield* elapsed(server.exited)
      assert.deepStrictEqual(value, { code: 0, signal: null })
      assert.isAbove(ms, 500)
    })
  )

  it.live("R54: a SIGINT, which comes from a terminal, has no such delay", () =>
    Effect.gen(function* () {
      const server = yield* start(60_000, 0, 30_000)
      yield* server.signal("SIGINT")
      const { ms, value } = yield* elapsed(server.exited)
      assert.deepStrictEqual(value, { code: 0, signal: null })
      assert.isBelow(ms, 10_000)
    })
  )

  it.live("cuts off what outlasts the grace, and exits 0 within it", () =>
    Effect.gen(function* () {
      const server = yield* start(1500)
      const busy = yield* connect(server.ports.public)
      yield* busy.send(search("wait 60000"))
      yield* Effect.sleep(100)
      yield* server.signal("SIGTERM")
      // After the grace it would be 1.
      assert.deepStrictEqual(yield* server.exited, { code: 0, signal: null })
      assert.deepStrictEqual(yield* busy.closed, [])
      assert.include(server.lines, "storage closed")
    })
  )

  it.live("R54: counts the same signal within 2 seconds once, and exits at once at one after that", () =>
    Effect.gen(function* () {
      const server = yield* start(60_000, 0, 30_000)
      const signals = Effect.repeat(server.signal("SIGTERM"), Schedule.spaced("100 millis"))
      const { ms, value } = yield* elapsed(Effect.raceFirst(server.exited, signals))
      // Not as if all were well.
      assert.deepStrictEqual(value, { code: 143, signal: null })
      assert.isAtLeast(ms, 2000)
      assert.isBelow(ms, 20_000)
    })
  )

  it.live("R54: exits at once at a different signal", () =>
    Effect.gen(function* () {
      const server = yield* start(60_000, 0, 30_000)
      yield* server.signal("SIGTERM")
      // The system delivers signals that wait in the order of their numbers.
      yield* unready(server.ports.admin)
      yield* server.signal("SIGINT")
      const { ms, value } = yield* elapsed(server.exited)
      assert.deepStrictEqual(value, { code: 130, signal: null })
      assert.isBelow(ms, 20_000)
    })
  )

  it.live("says how to cut the shutdown short, as it begins", () =>
    Effect.gen(function* () {
      const server = yield* start(60_000)
      yield* server.signal("SIGINT")
      yield* server.exited
      assert.include(
        server.lines.join("\n"),
        "Got SIGINT: accepted requests have up to 1m to finish. To cut them off, press Ctrl-C again after 2s."
      )
    })
  )

  it.live("does not wait longer than the grace for a storage that does not close", () =>
    Effect.gen(function* () {
      const server = yield* start(1000, 60_000)
      yield* server.signal("SIGTERM")
      const { ms, value } = yield* elapsed(server.exited)
      assert.deepStrictEqual(value, { code: 1, signal: null })
      assert.isBelow(ms, 30_000)
      assert.notInclude(server.lines, "storage closed")
    })
  )
})
