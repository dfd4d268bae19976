import type { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { type ApiError, schemas } from "../http/errors.ts"

const codes = [
  "invalid_request",
  "unsupported_geo",
  "unsupported_parameter",
  "unauthorized",
  "quota_exceeded",
  "rate_limited",
  "internal_error",
  "upstream_error",
  "upstream_timeout"
] as const

type Code = (typeof codes)[number]

export type CompatError = Extract<ApiError, { readonly _tag: Code }>

export type PageCompatError = Extract<ApiError, { readonly _tag: Code | "page_unreadable" }>

/** The API's envelope, for services whose clients do not parse errors. */
export const ownErrors = codes.map((code) => schemas[code])

/** A service's error body with each status that it is sent with. */
export const errorsOf = <S extends Schema.Top>(
  body: S,
  statuses: Readonly<Record<Code, number>>,
  ...more: ReadonlyArray<number>
) =>
  [...new Set([...codes.map((code) => statuses[code]), ...more])].map((status) =>
    body.pipe(HttpApiSchema.status(status))
  )
