import { monitorEventLoopDelay } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import type { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber } from "effect"
import type { Document, ParsedPage, ParseFailure } from "../../../src/domain/pages/Page.ts"
import { layer, type PageParserOptions } from "../../../src/layers/pages/PageParserThreads.ts"
import { PageParser } from "../../../src/services/pages/PageParser.ts"

const documentOf = (body: string, accountId = "a"): Document => ({
  bytes: new TextEncoder().encode(body),
  contentType: "text/html; charset=utf-8",
  url: "https://example.org/",
  accountId
})

const page = (text: string) => documentOf(`<title>T</title><main><p>${text}</p></main>`)

/** Takes the parser a quarter of a second to refuse: each tag opens thousands of others again. */
const endless = `${"<b>".repeat(4_000)}${"<p>x".repeat(1_000_000)}`

const hostile: { readonly [name: string]: string } = {
  "400,000 nested elements": "<div>".repeat(400_000),
  "200,000 cells": `<table>${"<tr><td>a<td>b".repeat(100_000)}`,
  "a huge attribute": `<p title="${"x".repeat(4_500_000)}">text</p>`,
  "a million entities": "&amp;".repeat(1_000_000),
  "formatting that never closes": endless.slice(0, 5_000_000)
}

const reasonOf = (exit: Exit.Exit<ParsedPage, ParseFailure>): string =>
  Exit.match(exit, {
    onSuccess: () => "ok",
    onFailure: (cause) => cause.reasons.map((each) => (each._tag === "Fail" ? each.error.reason : each._tag)).join()
  })

const parse = (document: Document) => Effect.flatMap(PageParser, (parser) => parser.parse(document))

/** The documents of a test take 16 s of a processor, which other programs may share. */
const oneWorker: PageParserOptions = { workers: 1, maxWait: Duration.minutes(4) }

const live = (name: string, test: Effect.Effect<void, unknown, PageParser>, options = oneWorker) =>
  it.live(name, () => Effect.provide(test, layer(options)), 300_000)

describe("parser threads", () => {
  live(
    "parse a page, and say why they cannot",
    Effect.gen(function* () {
      assert.strictEqual((yield* parse(page("Text."))).markdown, "Text.")
      const failure = yield* Effect.flip(parse({ ...page("Text."), contentType: "image/png" }))
      assert.strictEqual(failure.reason, "unsupported_media_type")
    })
  )

  live(
    "leave the caller's bytes alone",
    Effect.gen(function* () {
      const document = page("Text.")
      yield* parse(document)
      assert.strictEqual((yield* parse(document)).text, "Text.")
    })
  )

  live(
    "R59: answer too_large for a document over the limits of a tree, and the next document is parsed",
    Effect.gen(function* () {
      assert.strictEqual(
        reasonOf(yield* Effect.exit(parse(documentOf(hostile["formatting that never closes"] ?? "")))),
        "too_large"
      )
      assert.strictEqual((yield* parse(page("Text."))).text, "Text.")
    })
  )

  live(
    "R60: answer timed_out when no thread was free in time",
    Effect.gen(function* () {
      yield* parse(page("Warm."))
      // Together they take the thread for longer than the wait.
      const busy = yield* Effect.forEach(Array.from({ length: 12 }), () =>
        Effect.forkChild(parse(documentOf(endless.slice(0, 5_000_000))))
      )
      yield* Effect.promise(() => sleep(10))
      assert.strictEqual(reasonOf(yield* Effect.exit(parse(page("Late.")))), "timed_out")
      yield* Fiber.interruptAll(busy)
    }),
    { workers: 1, maxWait: Duration.millis(200) }
  )

  live(
    "R60: an interrupted document frees its thread and its place",
    Effect.gen(function* () {
      yield* parse(page("Warm."))
      const busy = yield* Effect.forkChild(parse(documentOf(endless.slice(0, 5_000_000))))
      const waiting = yield* Effect.forkChild(parse(documentOf(endless.slice(0, 5_000_000))))
      yield* Effect.promise(() => sleep(100))
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(busy)
      assert.strictEqual((yield* parse(page("Next."))).text, "Next.")
    }),
    { workers: 1, maxWait: Duration.seconds(15) }
  )

  live(
    "R60: never block the event loop while hostile documents are parsed, and answer each of them",
    Effect.gen(function* () {
      yield* parse(page("Warm."))
      const delay = monitorEventLoopDelay({ resolution: 5 })
      delay.enable()
      const names = Object.keys(hostile)
      const reasons = yield* Effect.forEach(
        names,
        (name) => Effect.map(Effect.exit(parse(documentOf(hostile[name] ?? "", name))), reasonOf),
        { concurrency: "unbounded" }
      )
      delay.disable()
      for (const [index, reason] of reasons.entries()) assert.include(["ok", "too_large"], reason, names[index])
      assert.strictEqual(reasons[0], "too_large")
      // The parsers run for many seconds; a loop that parsed would stand still for one of them.
      assert.isBelow(delay.max / 1e6, 1_000)
    })
  )

  live(
    "R83: a thread whose heap grew large is replaced after its document",
    Effect.gen(function* () {
      let started = 0
      const count = () => void started++
      process.on("worker", count)
      yield* parse(page("Text."))
      yield* parse(page("Text."))
      assert.strictEqual(started, 1)
      // Nearly as many elements as a page may have. Where they are too many for the heap, the thread is replaced too.
      const elements = Array.from({ length: 97_000 }, (_, index) => `<p class=a${index} id=b${index}>text ${index}`)
      yield* Effect.exit(parse(documentOf(elements.join(""))))
      assert.strictEqual((yield* parse(page("Text."))).text, "Text.")
      assert.strictEqual(started, 2)
      process.off("worker", count)
    })
  )

  live(
    "R83: a thread's heap is limited, whatever flags the process was started with",
    Effect.gen(function* () {
      setFlagsFromString("--max-old-space-size=1024")
      setFlagsFromString("--max-semi-space-size=32")
      const started = new Promise<Worker>((resolve) => process.once("worker", resolve))
      yield* parse(page("Text."))
      const { heap_size_limit } = yield* Effect.promise(async () => (await started).getHeapStatistics())
      assert.isBelow(heap_size_limit, 100 * 1024 * 1024)
    })
  )

  live(
    "R83: only one large document is parsed at a time",
    Effect.gen(function* () {
      let started = 0
      const count = () => void started++
      process.on("worker", count)
      const large = "<br>".repeat(41_000)
      yield* Effect.all([parse(documentOf(`a${large}`, "a")), parse(documentOf(`b${large}`, "b"))], { concurrency: 2 })
      assert.strictEqual(started, 1)
      process.off("worker", count)
    }),
    { ...oneWorker, workers: 2 }
  )

  live(
    "R60: an honest account does not wait for all hostile pages of another",
    Effect.gen(function* () {
      yield* parse(page("Warm."))
      const attack = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 10 }),
          () => Effect.exit(parse(documentOf(endless.slice(0, 5_000_000), "hostile"))),
          { concurrency: "unbounded" }
        )
      )
      yield* Effect.promise(() => sleep(100))
      const honest = Array.from({ length: 5 }, (_, n) => ({ ...page(`Text ${n}.`), accountId: "honest" }))
      const read = yield* Effect.forEach(honest, parse, { concurrency: "unbounded" })
      assert.lengthOf(read, 5)
      yield* Fiber.interrupt(attack)
    }),
    { workers: 1, maxWait: Duration.seconds(25) }
  )
})
