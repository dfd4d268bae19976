import { Schema } from "effect"
import { Moment as AnyMoment, toMoment } from "../domain/fields.ts"

/** A moment as clients read it: ISO 8601 in UTC with milliseconds. The service has it in Unix milliseconds. */
export const Moment = AnyMoment.pipe(Schema.annotateEncoded({ description: "ISO 8601 moment in UTC" }))

export const toMomentOrNull = (millis: number | undefined): string | null =>
  millis === undefined ? null : toMoment(millis)
