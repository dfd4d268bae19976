import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Result } from "effect"
import * as fc from "fast-check"
import * as ProviderFile from "../../../src/layers/providers/ProviderFile.ts"
import { maxRows } from "../../../src/layers/providers/Upstream.ts"
import { BodyTooLarge, UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import { firstOf, foundations } from "../../support/api/ProviderTable.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { type UpstreamFixture, upstreams } from "../../support/servers/upstreams.ts"
import { wholeStackRuns } from "../../support/wholeStackRuns.ts"

/** Of CPU: other work on the machine must not count. */
const maxMs = 1_000

/** An upstream that answers every call with this text. */
const answering = (text: string, status: number) =>
  Layer.succeed(UpstreamClient, {
    exchange: (_, use) =>
      use({
        status,
        header: (name) => (name === "content-type" ? "application/json" : undefined),
        body: (maxBytes) =>
          Buffer.byteLength(text) > maxBytes ? Effect.fail(new BodyTooLarge()) : Effect.succeed(Buffer.from(text))
      })
  })

/** Searches for two pages of rows, which most upstreams are called twice for. */
const search = (fixture: UpstreamFixture, text: string, status = 200) =>
  Effect.gen(function* () {
    const provider = firstOf(yield* ProviderFile.table({ _tag: "file", path: "providers.json" }))
    return yield* Effect.result(provider.search(searchRequest({ num: 20 })))
  }).pipe(
    Effect.provide(
      Layer.merge(
        foundations({
          providers: { it: { type: fixture.type, url: "http://127.0.0.1:1/", ...fixture.entry } },
          targets: {
            alpha_search: [{ provider: "it", ...(fixture.engine === undefined ? {} : { engine: fixture.engine }) }]
          }
        }),
        answering(text, status)
      )
    ),
    Effect.exit
  )

/** Rows or a typed refusal, soon. */
const survives = (fixture: UpstreamFixture, text: string, status?: number) =>
  Effect.gen(function* () {
    const before = process.threadCpuUsage()
    const exit = yield* search(fixture, text, status)
    const used = process.threadCpuUsage(before)
    const elapsedMs = (used.user + used.system) / 1000
    const what = `${text.slice(0, 300)} (${text.length})`
    if (Exit.isFailure(exit)) return assert.fail(`${exit.cause} for ${what}`)
    if (Result.isSuccess(exit.value)) assert.isAtMost(exit.value.success.length, 2 * maxRows, what)
    else assert.isBelow(exit.value.failure.message.length, 300, what)
    assert.isBelow(elapsedMs, maxMs, what)
  })

/** JSON nested `depth` times; as text, because nothing encodes it. */
const deep = (depth: number) => `${"[".repeat(depth)}1${"]".repeat(depth)}`
const deepObject = (depth: number) => `${'{"error":'.repeat(depth)}1${"}".repeat(depth)}`

const mebibyte = 1024 * 1024

/** What may stand for any value. */
const values: ReadonlyArray<string> = [
  "null",
  "1e999",
  '{"toString":1,"valueOf":1}',
  '{"__proto__":{"length":5},"constructor":{"name":1},"length":-1}',
  deep(100_000),
  deepObject(20_000),
  `[${Array(50_000).fill('["a","b"]').join(",")}]`,
  `[${Array(50_000).fill('{"url":1}').join(",")}]`,
  `"${"spend".repeat(mebibyte / 10)}"`,
  `"${"spend ".repeat(mebibyte / 10)}"`,
  `{"${"k".repeat(mebibyte / 4)}":"${"captch".repeat(1000)}"}`
]

/** The JSON of a value with the values at a path from it replaced by text. */
const replaced = (value: unknown, path: ReadonlyArray<string>, text: string): string => {
  const [name, ...rest] = path
  if (name === undefined || typeof value !== "object" || value === null) return text
  const fields = Object.entries({ [name]: null, ...value }).map(
    ([key, field]) => `${JSON.stringify(key)}:${key === name ? replaced(field, rest, text) : JSON.stringify(field)}`
  )
  return Array.isArray(value)
    ? `[${value.map((item, index) => (String(index) === name ? replaced(item, rest, text) : JSON.stringify(item)))}]`
    : `{${fields.join(",")}}`
}

/** Every path into a value, down to a row's fields. */
const pathsOf = (value: unknown, path: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> =>
  typeof value !== "object" || value === null
    ? [path]
    : [path, ...Object.entries(value).flatMap(([name, field]) => pathsOf(field, [...path, name]))]

const names = ["error", "errors", "message", "statusCode", "meta", "results", "__proto__", "constructor", "toString"]

for (const fixture of upstreams) {
  describe(`${fixture.type}: hostile answers`, () => {
    it.live(
      "any value in the place of another ends as rows or a refusal",
      () =>
        Effect.gen(function* () {
          const inside = [...pathsOf(fixture.errorInside[0]), ...names.map((name) => [name])]
          for (const value of values) {
            for (const path of pathsOf(fixture.answer([1]))) {
              yield* survives(fixture, replaced(fixture.answer([1]), path, value))
            }
            for (const path of inside) yield* survives(fixture, replaced(fixture.errorInside[0], path, value))
            yield* survives(fixture, value, 400)
          }
        }),
      120_000
    )

    it.live("200 of as many rows as an answer can hold are read", () =>
      Effect.gen(function* () {
        const answer = fixture.answer([1])
        const path = pathsOf(answer).find((path) => path.at(-1) === "0") ?? []
        const row = `{"${pathsOf(answer)
          .filter((field) => field.length === path.length + 1)
          .map((field) => field.at(-1))
          .join('":"","')}":""}`
        const rows = Array(Math.floor((1.9 * mebibyte) / (row.length + 1))).fill(row)
        yield* survives(fixture, replaced(answer, path.slice(0, -1), `[${rows.join(",")}]`))
      })
    )

    it.live("any JSON ends as rows or a refusal", () =>
      Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(
            fc.json({ maxDepth: 6, stringUnit: "binary" }),
            fc.constantFrom(...pathsOf(fixture.answer([1, 2])), ...names.map((name) => [name])),
            (json, path) => Effect.runPromise(survives(fixture, replaced(fixture.answer([1, 2]), path, json)))
          ),
          { numRuns: wholeStackRuns }
        )
      )
    )
  })
}
