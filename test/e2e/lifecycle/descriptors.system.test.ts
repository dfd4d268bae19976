import { connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { freePort, spawned } from "../../support/processes/Spawned.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"

const maxFiles = 512

/** Opens connections of which some find no descriptor at the server, and keeps them until the scope ends. */
const connections = (port: number, count: number) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      Array.from({ length: count }, (): Socket => connect(port, "127.0.0.1").on("error", () => undefined))
    ),
    (sockets) =>
      Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
      })
  )

describe.skipIf(process.platform === "win32")("a process without file descriptors", () => {
  it.live(
    "says so in one line of the log and in a metric, and goes on when it has some again",
    () =>
      Effect.gen(function* () {
        const ports = { PORT: `${yield* freePort}`, ADMIN_PORT: `${yield* freePort}` }
        const env = { ...ports, DATA_DIR: yield* EmbeddedStore.directory, LOG_FORMAT: "json", QUARRY_COMMIT: "1a2b3c4" }
        const server = yield* spawned("src/main.ts", [], env, maxFiles)
        yield* server.said("Quarry listens at ")
        const metrics = Effect.promise(async () =>
          (await fetch(`http://127.0.0.1:${ports.ADMIN_PORT}/metrics`, { headers: { connection: "close" } })).text()
        )
        const before = yield* metrics
        assert.match(before, new RegExp(`^quarry_process_file_descriptor_limit ${maxFiles}$`, "m"))
        assert.match(before, /^quarry_process_file_descriptor_open [1-9]\d*$/m)
        assert.match(before, /^quarry_process_file_descriptor_exhausted_total 0$/m)
        assert.match(before, /^quarry_build_info\{version="\d+\.\d+\.\d+",commit="1a2b3c4",node="24\.[^"]+"\} 1$/m)

        yield* Effect.scoped(
          Effect.andThen(connections(Number(ports.PORT), 2 * maxFiles), server.said("no file descriptors left"))
        )
        const said = yield* server.said("has file descriptors again")
        assert.strictEqual(said.split("no file descriptors left").length, 2)
        assert.match(yield* metrics, /^quarry_process_file_descriptor_exhausted_total [1-9]\d*$/m)
      }),
    60_000
  )
})
