import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, PlatformError } from "effect"
import { standardPlans } from "../../src/domain/credits/Plan.ts"
import { PlanFileInvalid, read } from "../../src/layers/PlanFile.ts"

const path = "plans.json"

const reading = (content: string) =>
  read(path).pipe(Effect.provide(FileSystem.layerNoop({ readFileString: () => Effect.succeed(content) })))

const faultsOf = (content: string) =>
  Effect.map(Effect.flip(reading(content)), (error) => {
    assert.instanceOf(error, PlanFileInvalid)
    assert.notInclude(error.message, "\n")
    const prefix = `QUARRY_PLANS (${path}): `
    assert.isTrue(error.message.startsWith(prefix) && error.message.endsWith("."), error.message)
    return error.message.slice(prefix.length, -1).split("; ")
  })

describe("R75: the file of plans", () => {
  it.effect("has the specification's table for everything that it does not say", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* reading("{}"), standardPlans)
      const given = {
        trial: { quota: 250 },
        starter: { name: " Hobby ", quota: 8_000, concurrency: 3, price_cents: 1_200, pack_cents_per_1000: 0 },
        custom: { quota: 1_000_000, pack_cents_per_1000: 50 }
      }
      assert.deepStrictEqual(yield* reading(JSON.stringify(given)), {
        ...standardPlans,
        trial: { ...standardPlans.trial, quota: 250 },
        starter: { name: "Hobby", quota: 8_000, concurrency: 3, priceCents: 1_200, packCentsPer1000: 0 },
        custom: { ...standardPlans.custom, quota: 1_000_000, packCentsPer1000: 50 }
      })
    })
  )

  it.effect("names all of its faults in one line", () =>
    Effect.gen(function* () {
      const wrong = {
        growht: {},
        trial: 5,
        starter: { quota: -1, concurrency: 0, prize: 3 },
        growth: { quota: 1.5, concurrency: 10_001, price_cents: "4900", pack_cents_per_1000: null },
        business: { name: " ", price_cents: 1e300 },
        custom: { name: "two\nlines", quota: 1e9 + 1 }
      }
      const faults = yield* faultsOf(JSON.stringify(wrong))
      assert.sameMembers(
        faults.map((fault) => fault.split(" ")[0] ?? ""),
        [
          "growht",
          "trial",
          "starter.quota",
          "starter.concurrency",
          "starter.prize",
          "growth.quota",
          "growth.concurrency",
          "growth.price_cents",
          "growth.pack_cents_per_1000",
          "business.name",
          "business.price_cents",
          "custom.name",
          "custom.quota"
        ]
      )
      assert.include(faults, "starter.concurrency must be a whole number from 1 to 10000")
    })
  )

  it.effect.each(["[]", "5", "null"])("is an object and not %s", (content) =>
    Effect.gen(function* () {
      assert.match((yield* faultsOf(content)).join(), /^must be an object with plans/)
    })
  )

  it.effect("must be there, and JSON", () =>
    Effect.gen(function* () {
      assert.match((yield* faultsOf('{"starter": ')).join(), /^is not JSON/)
      const missing = PlatformError.systemError({ _tag: "NotFound", module: "FileSystem", method: "readFileString" })
      const files = FileSystem.layerNoop({ readFileString: () => Effect.fail(missing) })
      const error = yield* Effect.flip(Effect.provide(read(path), files))
      assert.include(error.message, "cannot be read (NotFound)")
    })
  )
})
