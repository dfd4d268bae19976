import { spawn } from "node:child_process"
import { once } from "node:events"
import { request } from "node:http"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { withSpan } from "../../src/services/telemetry/Tracing.ts"
import { traced } from "../support/Traces.ts"

const program = fileURLToPath(new URL("../../otel/viewer/viewer.ts", import.meta.url))

/** The viewer in a process of its own, and its address. */
const viewer = Effect.acquireRelease(
  Effect.promise(async () => {
    const child = spawn(process.execPath, [program], {
      env: { ...process.env, TRACES_PORT: "0" },
      stdio: ["ignore", "pipe", "inherit"]
    })
    const [line] = await once(createInterface(child.stdout), "line")
    return { child, url: String(/http:\S+(?=\/)/.exec(line)?.[0]) }
  }),
  ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
).pipe(Effect.map(({ url }) => url))

const send = (url: string, init?: RequestInit) =>
  Effect.promise(async () => {
    const response = await fetch(url, init)
    return { status: response.status, text: await response.text() }
  })

/** The status of a body that is sent in chunks and does not say how long it is. */
const sendChunks = (url: string, chunk: Buffer, count: number) =>
  Effect.callback<number | undefined>((resume) => {
    const sent = request(url, { method: "POST" }, (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode))
    })
    // The viewer closes the connection while the rest is being sent.
    sent.on("error", () => {})
    for (let n = 0; n < count; n++) sent.write(chunk)
    sent.end()
  })

/** What a process exports of a batch of one row, whose query holds markup. */
const exported = traced(
  withSpan("Bulk.run", { attributes: { "quarry.batch.id": "bat_1", "quarry.query": "<script>" } }, () =>
    withSpan("quarry.row", { attributes: { "quarry.row.index": 0, "error.type": "upstream_error" } }, () => Effect.void)
  )
).pipe(Effect.map(({ request, server }) => ({ traceId: server.traceId, body: request })))

describe("npm run traces", () => {
  it.live("takes a trace and shows it as a page, by its id and by its batch's", () =>
    Effect.gen(function* () {
      const url = yield* viewer
      const { body, traceId } = yield* exported
      assert.strictEqual((yield* send(`${url}/v1/traces`, { method: "POST", body })).status, 200)
      assert.include((yield* send(url)).text, traceId)
      for (const path of [`/trace/${traceId}`, "/batch/bat_1"]) {
        const { status, text } = yield* send(url + path)
        assert.strictEqual(status, 200)
        for (const part of ["Bulk.run", "quarry.row", "upstream_error", "&lt;script&gt;"]) assert.include(text, part)
        assert.notInclude(text, "<script>")
      }
      assert.strictEqual((yield* send(`${url}/trace/none`)).status, 404)
    })
  )

  it.live("refuses what is too large or no trace, and goes on", () =>
    Effect.gen(function* () {
      const url = yield* viewer
      assert.strictEqual(yield* sendChunks(`${url}/v1/traces`, Buffer.alloc(1024 * 1024), 20), 413)
      assert.strictEqual(
        (yield* send(`${url}/v1/traces`, { method: "POST", body: new Uint8Array([0x08, 0xff]) })).status,
        400
      )
      assert.strictEqual((yield* send(url)).status, 200)
    })
  )
})
