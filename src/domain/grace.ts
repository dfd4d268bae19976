import { Schema } from "effect"

/** The longest time for which a secret that was rotated works on: of a key (R51) and of a webhook (R53). */
export const maxGraceSeconds = 86_400

const message = `must be a whole number from 0 to ${maxGraceSeconds}`

/** The field of a rotation's body that asks for a grace. */
export const graceSeconds = (description: string) =>
  Schema.optionalKey(
    Schema.Number.annotate({ message, description }).check(
      Schema.isInt({ message }),
      Schema.isBetween({ minimum: 0, maximum: maxGraceSeconds }, { message })
    )
  )
