import { DateTime, Schema } from "effect"

/** A moment as clients read it: ISO 8601 in UTC with milliseconds. */
export const Moment = Schema.String.annotate({
  description: "ISO 8601 moment in UTC",
  format: "date-time"
})

export const toMoment = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

export const toMomentOrNull = (millis: number | undefined): string | null =>
  millis === undefined ? null : toMoment(millis)
