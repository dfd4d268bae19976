import { Effect, Result, Schema, SchemaIssue, SchemaTransformation } from "effect"
import type { InvalidRequest } from "../errors.ts"
import { parseAddress } from "../net/address.ts"
import { asDigits, decoder } from "../requests/fields.ts"
import { searchFields } from "../search/SearchRequest.ts"

export const pageFormats = ["markdown", "text"] as const
export type PageFormat = (typeof pageFormats)[number]

export const maxPageAddressCharacters = 2_048
export const maxStart = 10_000_000
export const maxPageCharacters = 200_000
export const defaultPageCharacters = 50_000
export const maxAgeSeconds = 86_400

/** Has defaults applied, except that of `max_age`, which the operator sets. */
export interface PageRequest {
  /** Absolute, `http:` or `https:`, without credentials and fragment. */
  readonly url: string
  readonly format: PageFormat
  readonly start: number
  readonly maxChars: number
  readonly withLinks: boolean
  readonly maxAgeSeconds: number | undefined
  readonly source: string | undefined
}

const notAddress = `must be an absolute http or https address of at most ${maxPageAddressCharacters} characters, without user name and password`

const pageAddress = (text: string): string | undefined => {
  const url = text.length > maxPageAddressCharacters ? null : parseAddress(text)
  const isPage = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === ""
  if (url === null || !isPage) return undefined
  url.hash = ""
  return url.href
}

export const PageAddress = Schema.String.annotate({ message: notAddress, maxLength: maxPageAddressCharacters }).pipe(
  Schema.decodeTo(
    Schema.String,
    SchemaTransformation.transformEffect({
      decode: (text: string) => {
        const address = pageAddress(text)
        return address === undefined
          ? Effect.fail(new SchemaIssue.InvalidValue({ message: notAddress }))
          : Effect.succeed(address)
      },
      encode: (address) => Effect.succeed(address)
    })
  ),
  Schema.annotateEncoded({ description: "Address of the page. The fragment is ignored." }),
  Schema.annotateKey({ messageMissingKey: "is required" })
)

const rangeMessage = (minimum: number, maximum: number) => `must be a whole number from ${minimum} to ${maximum}`

const between = (minimum: number, maximum: number, annotations: { description: string; default?: number }) => {
  const message = rangeMessage(minimum, maximum)
  return Schema.Number.annotate({ message, ...annotations }).check(
    Schema.isInt({ message }),
    Schema.isBetween({ minimum, maximum }, { message })
  )
}

const digits = (minimum: number, maximum: number, annotations: { description: string; default?: number }) =>
  asDigits(between(minimum, maximum, annotations), rangeMessage(minimum, maximum))

const descriptions = {
  format: "Format of `content`.",
  start: { description: "First character (code point) of `content` to return." },
  maxChars: { description: "Maximum number of characters of `content` to return." },
  links: "Returns the links of the main text too.",
  maxAge: {
    description: "Maximum age of a cached copy in seconds; 0 always fetches the page. The operator sets the default."
  }
}

const Format = Schema.Literals(pageFormats).annotate({ message: `must be one of ${pageFormats.join(", ")}` })
const notBoolean = "must be true or false"

const Flag = Schema.Literals(["true", "false"])
  .annotate({ message: notBoolean })
  .pipe(
    Schema.decodeTo(
      Schema.Boolean,
      SchemaTransformation.transform({
        decode: (text) => text === "true",
        encode: (flag) => (flag ? ("true" as const) : ("false" as const))
      })
    )
  )

export const PageParameters = Schema.Struct({
  url: PageAddress,
  format: Schema.optionalKey(Format.annotate({ description: descriptions.format, default: "markdown" })),
  start: Schema.optionalKey(digits(0, maxStart, { ...descriptions.start, default: 0 })),
  max_chars: Schema.optionalKey(
    digits(1, maxPageCharacters, { ...descriptions.maxChars, default: defaultPageCharacters })
  ),
  links: Schema.optionalKey(Flag.pipe(Schema.annotateEncoded({ description: descriptions.links, default: "false" }))),
  max_age: Schema.optionalKey(digits(0, maxAgeSeconds, descriptions.maxAge)),
  source: searchFields("search").source
})

export const agentPageFields = (defaultCharacters: number) => ({
  url: PageAddress,
  start: Schema.optionalKey(between(0, maxStart, { ...descriptions.start, default: 0 })),
  max_chars: Schema.optionalKey(between(1, maxPageCharacters, { ...descriptions.maxChars, default: defaultCharacters }))
})

/** These fields have no defaults, because a row's default would override the body's value. */
export const jsonPageFields = {
  format: Schema.optionalKey(Format.annotate({ description: descriptions.format })),
  start: Schema.optionalKey(between(0, maxStart, descriptions.start)),
  max_chars: Schema.optionalKey(between(1, maxPageCharacters, descriptions.maxChars)),
  links: Schema.optionalKey(Schema.Boolean.annotate({ message: notBoolean, description: descriptions.links })),
  max_age: Schema.optionalKey(between(0, maxAgeSeconds, descriptions.maxAge))
}

export const toPageRequest = (fields: typeof PageParameters.Type): PageRequest => ({
  url: fields.url,
  format: fields.format ?? "markdown",
  start: fields.start ?? 0,
  maxChars: fields.max_chars ?? defaultPageCharacters,
  withLinks: fields.links ?? false,
  maxAgeSeconds: fields.max_age,
  source: fields.source
})

const decodeParameters = decoder(PageParameters)

export const parsePageParameters = (raw: unknown): Result.Result<PageRequest, InvalidRequest> =>
  Result.map(decodeParameters(raw), toPageRequest)
