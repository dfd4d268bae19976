import { Record, Result, Schema } from "effect"
import { maxEmailCharacters } from "../accounts/emailAddress.ts"
import { roles } from "../accounts/Role.ts"
import { maxConcurrency, plans } from "../credits/Plan.ts"
import type { InvalidRequest } from "../errors.ts"
import { decoder, parseMoment, Text } from "../requests/fields.ts"
import { targets } from "../search/Target.ts"
import { isCarriable } from "../text.ts"

/** Larger values are typing mistakes. */
export const limits = { credits: 1_000_000_000, textCharacters: 500 }

const required = { messageMissingKey: "is required" }

export const between = (minimum: number, maximum: number) => {
  const message = `must be a whole number from ${minimum} to ${maximum}`
  return Schema.Int.annotate({ message })
    .check(Schema.isBetween({ minimum, maximum }, { message }))
    .annotateKey(required)
}

const oneOf = <const A extends string>(values: ReadonlyArray<A>) =>
  Schema.Literals(values)
    .annotate({ message: `must be one of ${values.join(", ")}` })
    .annotateKey(required)

const Carriable = Text.check(Schema.makeFilter(isCarriable, { message: "must not contain NUL or unpaired surrogates" }))

const Id = Text.check(
  Schema.isPattern(/^\w{1,100}$/, { message: "must be an ID, as lists and pages show it" })
).annotateKey(required)

export const Reason = Carriable.check(
  Schema.isBetweenLength(1, limits.textCharacters, { message: `must have 1 to ${limits.textCharacters} characters` })
).annotateKey(required)

export const Email = Carriable.check(
  Schema.isPattern(/^\s*[^\s@]+@[^\s@]+\s*$/, { message: "must be an email address" }),
  Schema.isMaxLength(maxEmailCharacters, { message: `must have at most ${maxEmailCharacters} characters` })
).annotateKey(required)

export const Credits = Schema.Int.annotate({ message: "must be a whole number" })
  .check(
    Schema.makeFilter((credits) => credits !== 0 && Math.abs(credits) <= limits.credits, {
      message: `must be a whole number between -${limits.credits} and ${limits.credits}, other than 0`
    })
  )
  .annotateKey(required)

export const IdempotencyKey = Text.check(
  Schema.isPattern(/^[\x21-\x7e]{1,255}$/, { message: "must have 1 to 255 visible ASCII characters" })
)

const Time = Carriable.check(
  Schema.makeFilter((text) => parseMoment(text) !== undefined, {
    message: "must be an ISO 8601 date or time such as 2026-01-31 or 2026-01-31T08:00:00Z"
  })
)

const flag = Schema.optional(Schema.Boolean.annotate({ message: "must be true or false" }))
const id = { id: Id }
const account = { account: Id }
const member = { account: Id, email: Email }
const Name = Carriable.check(Schema.isBetweenLength(1, 100, { message: "must have 1 to 100 characters" }))
const provider = { provider: Name, engine: Schema.optional(Name) }
const queue = { account: Id, endpoint: Schema.optional(Id) }

/** The changes that have both a command and a button. A field is named like its flag, in snake case. */
const fields = {
  "account suspend": { ...id, reason: Reason },
  "account resume": { ...id, reason: Schema.optional(Reason) },
  "account adjust": { ...id, credits: Credits, to: Schema.optional(oneOf(["balance", "quota"])), reason: Reason },
  "account grant": {
    ...id,
    credits: between(1, limits.credits),
    reason: Reason,
    idempotency_key: Schema.optional(IdempotencyKey)
  },
  "account set-plan": {
    ...id,
    plan: oneOf(plans),
    quota: Schema.optional(between(0, limits.credits)),
    concurrency: Schema.optional(between(1, maxConcurrency)),
    cycle_start: Schema.optional(Time)
  },
  "account set-email": { ...id, email: Email },
  "account delete": {
    ...id,
    yes: Schema.Literal(true).annotate({ message: "must be true, because nothing restores it" }).annotateKey(required)
  },
  "sessions end": account,
  "person reset-factors": { email: Email, reason: Reason },
  "person resend-email": { email: Email },
  "key revoke": id,
  "member role": { ...member, role: oneOf(roles) },
  "member remove": member,
  "webhooks pause": queue,
  "webhooks resume": queue,
  "webhooks drop": queue,
  "replica forget": id,
  "providers check": {},
  "providers pause": { ...provider, reason: Reason },
  "providers resume": provider,
  "ledger verify": { full: flag },
  "index remove": {
    url: Schema.optional(Carriable),
    site: Schema.optional(Carriable),
    target: Schema.optional(oneOf(targets))
  }
}

export type ActName = keyof typeof fields
export const actNames = Record.keys(fields)

export type FieldsOf<Name extends ActName> = Schema.Struct.Type<(typeof fields)[Name]>
export type ActOf<Name extends ActName> = { readonly command: Name } & FieldsOf<Name>
export type Act = { readonly [Name in ActName]: ActOf<Name> }[ActName]

export const actSchemas = Record.map(fields, (all): Schema.Codec<object, unknown> => Schema.Struct(all))

/** Acts that change nothing, which observers may do too. */
export const readOnlyActs: ReadonlySet<ActName> = new Set(["providers check", "ledger verify"])

const decodeName = decoder(Schema.Struct({ command: oneOf(actNames) }))
const decoders = Record.map(actSchemas, (schema) => decoder(schema))

export const decodeAct = (body: unknown): Result.Result<Act, InvalidRequest> =>
  Result.flatMap(decodeName(body), ({ command }) =>
    // Each decoder is that of the fields of its command, which the type of the table cannot say.
    Result.map(decoders[command](body), (all) => ({ command, ...all }) as Act)
  )
