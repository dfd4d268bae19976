import { Effect, type FileSystem, Layer, Schema } from "effect"
import {
  maxConcurrency,
  type Plan,
  type PlanOffer,
  type PlanTable,
  plans,
  standardPlans
} from "../domain/credits/Plan.ts"
import { OperatorError } from "../domain/OperatorError.ts"
import { Plans } from "../services/credits/Plans.ts"
import { readJsonFile } from "./providers/JsonFile.ts"
import { decode } from "./providers/ProviderType.ts"

export class PlanFileInvalid extends OperatorError("PlanFileInvalid") {}

const maxQuota = 1_000_000_000
/** A million dollars, more than payment providers accept. */
const maxCents = 100_000_000
const maxNameCharacters = 50

const whole = (minimum: number, maximum: number) => {
  const message = `must be a whole number from ${minimum} to ${maximum}`
  return Schema.Number.annotate({ message }).check(
    Schema.makeFilter((value) => Number.isInteger(value) && value >= minimum && value <= maximum, { message })
  )
}

const nameMessage = `must be a text of 1 to ${maxNameCharacters} characters without control characters`

const Entry = Schema.Struct({
  name: Schema.optionalKey(
    Schema.String.annotate({ message: nameMessage }).check(
      Schema.isPattern(new RegExp(`^(?=.*\\S)[^\\p{Cc}]{1,${maxNameCharacters}}$`, "u"), { message: nameMessage })
    )
  ),
  quota: Schema.optionalKey(whole(0, maxQuota)),
  concurrency: Schema.optionalKey(whole(1, maxConcurrency)),
  price_cents: Schema.optionalKey(whole(0, maxCents)),
  pack_cents_per_1000: Schema.optionalKey(whole(0, maxCents))
}).annotate({ message: "must be an object" })

const entry = Schema.optionalKey(Entry)

const decodeFile = decode(
  Schema.Struct({ trial: entry, starter: entry, growth: entry, business: entry, custom: entry }).annotate({
    message: `must be an object with plans, of ${plans.join(", ")}`
  })
)

const offerOf = (plan: Plan, given: typeof Entry.Type | undefined): PlanOffer => {
  const { concurrency, name, packCentsPer1000, priceCents, quota } = standardPlans[plan]
  return {
    name: given?.name?.trim() ?? name,
    quota: given?.quota ?? quota,
    concurrency: given?.concurrency ?? concurrency,
    priceCents: given?.price_cents ?? priceCents,
    packCentsPer1000: given?.pack_cents_per_1000 ?? packCentsPer1000
  }
}

/** The operator's plans (R75). Omitted values come from `standardPlans`. */
export const read = (path: string): Effect.Effect<PlanTable, PlanFileInvalid, FileSystem.FileSystem> =>
  readJsonFile(path).pipe(
    Effect.flatMap((json) => decodeFile("", json)),
    Effect.map(
      (file): PlanTable => ({
        trial: offerOf("trial", file.trial),
        starter: offerOf("starter", file.starter),
        growth: offerOf("growth", file.growth),
        business: offerOf("business", file.business),
        custom: offerOf("custom", file.custom)
      })
    ),
    Effect.mapError(({ faults }) => {
      const all = new Set(faults.map(({ path, problem }) => `${path} ${problem}`.trim()))
      return new PlanFileInvalid({ message: `QUARRY_PLANS (${path}): ${[...all].join("; ")}.` })
    })
  )

export const layer = (path: string): Layer.Layer<Plans, PlanFileInvalid, FileSystem.FileSystem> =>
  Layer.effect(Plans, read(path))
