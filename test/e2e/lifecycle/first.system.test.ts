import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { freePort, type Spawned, spawned, temporaryDirectory } from "../../support/processes/Spawned.ts"

const timeout = 240_000

const start = (DATA_DIR: string) =>
  Effect.flatMap(freePort, (port) => spawned("src/main.ts", [], { DATA_DIR, PORT: `${port}`, LOG_FORMAT: "json" }))

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The living process that makes the store, once it has begun to. */
const maker = (dataDir: string) =>
  Effect.sync(() => {
    const lock = join(dataDir, "quarry.pid")
    if (!existsSync(lock) || !existsSync(join(dataDir, "unfinished", "postgres", "PG_VERSION"))) return 0
    return Number(readFileSync(lock, "utf8").split(" ")[0])
  }).pipe(Effect.repeat({ until: (pid) => pid > 0 && isAlive(pid), schedule: Schedule.spaced("10 millis") }))

/** The one line with which a start ends that cannot go on. */
const complaint = ({ ended }: Spawned) =>
  Effect.map(ended, ({ code, stderr, stdout }) => {
    assert.deepStrictEqual([code, stdout], [1, ""], stderr)
    assert.match(stderr, /^quarry: [^\n]*\n$/)
    return stderr
  })

/** The curl line of a first start finds something in the starter index. */
const answersItsCurlLine = Effect.fnUntraced(function* (server: Spawned) {
  const [, secret, address = ""] =
    /curl -H 'Authorization: Bearer (sk_live_\w+)' '(\S+)'/.exec(yield* server.said("curl")) ?? []
  const response = yield* Effect.promise(() => fetch(address, { headers: { authorization: `Bearer ${secret}` } }))
  assert.include(yield* Effect.promise(() => response.text()), '"position":1')
})

/** A disk of the test's own. It takes root. */
const smallDisk = Effect.tap(temporaryDirectory, (directory) =>
  Effect.acquireRelease(
    Effect.sync(() => execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m,mode=700", "tmpfs", directory])),
    () => Effect.sync(() => execFileSync("umount", ["--lazy", directory]))
  )
)

describe("the first start of an embedded store", () => {
  it.live(
    "killed or interrupted in the middle, it leaves nothing that the next start cannot complete, alone",
    () =>
      Effect.gen(function* () {
        const dataDir = join(yield* temporaryDirectory, "store")

        const killed = yield* start(dataDir)
        process.kill(yield* maker(dataDir), "SIGKILL")
        assert.include(yield* complaint(killed), "was killed")

        const interrupted = yield* start(dataDir)
        const pid = yield* maker(dataDir)
        interrupted.kill("SIGINT")
        const { code, stderr } = yield* interrupted.ended
        assert.deepStrictEqual([code, stderr, isAlive(pid)], [0, "", false])
        assert.notInclude(readdirSync(dataDir), "postgres")

        // A second start at the same time is one line, and the first one goes on.
        const completed = yield* start(dataDir)
        const making = yield* maker(dataDir)
        const second = yield* complaint(yield* start(dataDir))
        assert.match(second, new RegExp(`in use by process (${making}|${completed.pid})\\.`))
        yield* answersItsCurlLine(completed)
        assert.sameMembers(readdirSync(dataDir), ["postgres", "quarry.pid", "secrets.json", "starter-index.sha256"])
      }),
    timeout
  )

  it.live(
    "a store in memory has the starter index too",
    () => Effect.flatMap(start("memory:"), answersItsCurlLine),
    timeout
  )

  it.live.skipIf(process.getuid?.() !== 0)(
    "a full disk is one line that names the free space, and nothing is left on it",
    () =>
      Effect.gen(function* () {
        const dataDir = join(yield* smallDisk, "store")
        assert.match(
          yield* complaint(yield* start(dataDir)),
          /its disk has \d+ MB free, and it takes 100 MB\. Free space/
        )
        assert.deepStrictEqual(readdirSync(dataDir), ["secrets.json"])
      }),
    timeout
  )
})
