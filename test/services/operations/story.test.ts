import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { NotFound } from "../../../src/domain/errors.ts"
import { maxEntries, OperatorLog } from "../../../src/services/operations/OperatorLog.ts"
import { storyOf } from "../../../src/services/operations/story.ts"
import { logEntry } from "../../support/api/requests.ts"

const requestId = "0b9f6c1e-8d6f-4c7e-9b58-2f6d7a1c3e55"
const entry = { ...logEntry({ id: "qry_1", accountId: "acc_1", requestId }), at: 0 }

const log = (count = 1) =>
  Layer.mock(OperatorLog, {
    query: () => Effect.succeed(entry),
    batch: () => Effect.succeed([entry, ...Array.from({ length: count - 1 }, () => entry)]),
    request: (id) =>
      id === requestId ? Effect.succeed([entry]) : Effect.fail(new NotFound({ message: `There is no ${id}.` })),
    charges: () => Effect.succeed([])
  })

describe("the story of a request", () => {
  it.effect.each([
    ["qry_1", "query"],
    ["pag_1", "page"],
    ["bat_1", "batch"],
    [requestId, "request"],
    [requestId.replaceAll("-", ""), "trace"],
    [` ${requestId} `, "request"]
  ] as const)("is found by %s", ([id, kind]) =>
    Effect.gen(function* () {
      const story = yield* storyOf(id)
      assert.deepStrictEqual([story.kind, story.entries.length, story.isCut], [kind, 1, false])
    }).pipe(Effect.provide(log()))
  )

  it.effect("says that it was cut", () =>
    Effect.map(storyOf("bat_1"), ({ isCut }) => assert.isTrue(isCut)).pipe(Effect.provide(log(maxEntries)))
  )

  it.effect.each([
    ["acc_1", "invalid_request"],
    ["", "invalid_request"],
    ["0b9f6c1e8d6f4c7e9b582f6d7a1c3e56", "not_found"]
  ] as const)("of %s is %s", ([id, code]) =>
    Effect.map(Effect.flip(storyOf(id)), ({ _tag }) => assert.strictEqual(_tag, code)).pipe(Effect.provide(log()))
  )
})
