import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { WebSearch, watch } from "./Trends.ts"

it.effect("reports each address once, at the hour when it appears", () =>
  Effect.gen(function* () {
    const answers = [["https://a.example/"], ["https://a.example/", "https://b.example/"]]
    const search = Layer.succeed(WebSearch, { urls: () => Effect.sync(() => answers.shift() ?? []) })
    const reported: Array<string> = []
    const report = (url: string) => Effect.sync(() => void reported.push(url))
    yield* Effect.forkChild(Effect.provide(watch("css", report), search))
    yield* TestClock.adjust("59 minutes")
    assert.deepStrictEqual(reported, ["https://a.example/"])
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(reported, ["https://a.example/", "https://b.example/"])
  })
)
