import { DateTime, Schema, SchemaTransformation } from "effect"
import { toMoment } from "../domain/requests/fields.ts"

/** ISO 8601 in UTC with milliseconds for clients, Unix milliseconds internally. */
export const Moment = Schema.String.annotate({ description: "ISO 8601 timestamp in UTC", format: "date-time" }).pipe(
  Schema.decodeTo(
    Schema.Number,
    SchemaTransformation.transform({
      decode: (text: string) => DateTime.toEpochMillis(DateTime.makeUnsafe(text)),
      encode: toMoment
    })
  )
)

/** A nullable timestamp. The description says when it is null. */
export const momentOrNull = (description: string) => Schema.NullOr(Moment).annotate({ description })
