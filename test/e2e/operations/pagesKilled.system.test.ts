import { createServer } from "node:http"
import { assert, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { freePort, spawned } from "../../support/processes/Spawned.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"

const paragraph = "A paragraph with enough words that anything that looks for the text of a page finds it here. "

/** A site whose page `n` takes `n` times 150 ms. */
const site = Effect.acquireRelease(
  Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
    const server = createServer(({ url = "" }, response) => {
      const number = Number(/^\/page\/(\d+)$/.exec(url)?.[1] ?? Number.NaN)
      if (Number.isNaN(number)) return response.writeHead(404).end()
      response.setHeader("content-type", "text/html")
      const html = `<title>Page ${number}</title><p>${paragraph.repeat(5)}</p>`
      return setTimeout(() => response.end(html), number * 150)
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const close = () => {
        server.closeAllConnections()
        server.close()
      }
      resume(Effect.succeed({ port: typeof address === "object" && address !== null ? address.port : 0, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

/** Reads lines of a streamed batch until `enough` pages have come. */
const readLines = async (response: Response, enough: number): Promise<number> => {
  let text = ""
  const decoder = new TextDecoder()
  const count = () => text.split("\n").filter((line) => line.includes('"status":"ok"')).length
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (count() >= enough) break
  }
  return count()
}

it.live(
  "kill -9 during batches of pages: pages that were sent are charged once, and the rest is given back",
  () =>
    Effect.gen(function* () {
      const { port: sitePort } = yield* site
      const DATA_DIR = yield* EmbeddedStore.directory
      const port = yield* freePort
      const env = { LOG_FORMAT: "json", DATA_DIR, PORT: `${port}`, PAGES_ALLOW_PRIVATE: "true" }
      const base = `http://127.0.0.1:${port}`
      const server = yield* spawned("src/main.ts", [], env)
      const [secret = ""] = /sk_live_\w+/.exec(yield* server.said("curl")) ?? []
      const authorization = `Bearer ${secret}`
      const available = Effect.tryPromise(async () => {
        const response = await fetch(`${base}/v1/me`, { headers: { authorization } })
        const body = (await response.json()) as { readonly credits_available: number } // As the API describes it.
        return body.credits_available
      })
      const before = yield* available
      const urls = Array.from({ length: 20 }, (_, index) => `http://127.0.0.1:${sitePort}/page/${index}`)
      const send = (accept: string) =>
        fetch(`${base}/v1/pages`, {
          method: "POST",
          headers: { authorization, accept, "content-type": "application/json" },
          body: JSON.stringify({ urls, max_age: 0 })
        })
      const whole = send("application/json").then(
        () => "answered",
        () => "cut"
      )
      const sent = yield* Effect.promise(async () => readLines(await send("application/x-ndjson"), 4))
      server.kill("SIGKILL")
      yield* server.ended
      assert.strictEqual(yield* Effect.promise(() => whole), "cut")
      assert.isAtLeast(sent, 4)

      const again = yield* spawned("src/main.ts", [], env)
      yield* again.said("Quarry listens")
      // The holds of both batches are returned once their leases are over.
      const charged = yield* available.pipe(
        Effect.map((now) => before - now),
        Effect.filterOrFail((charged) => charged < urls.length),
        Effect.retry({ schedule: Schedule.spaced("2 seconds"), times: 90 })
      )
      assert.isAtLeast(charged, sent)
      again.kill("SIGTERM")
      yield* again.ended
      const { code, stderr, stdout } = yield* (yield* spawned("src/cli.ts", ["ledger", "verify", "--json"], {
        DATA_DIR
      })).ended
      assert.strictEqual(code, 0, `${stdout}${stderr}`)
    }).pipe(Effect.scoped),
  400_000
)
