import { Schema } from "effect"

export const maxGraceSeconds = 86_400

const message = `must be a whole number from 0 to ${maxGraceSeconds}`

export const graceSeconds = (description: string) =>
  Schema.optionalKey(
    Schema.Number.annotate({ message, description }).check(
      Schema.isInt({ message }),
      Schema.isBetween({ minimum: 0, maximum: maxGraceSeconds }, { message })
    )
  )
