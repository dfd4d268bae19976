import { Array as Arr, Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { IpNetwork, type NetAddress } from "effect/net"
import { type Budget, budgetPeriods, maxBudgetCredits } from "./Budget.ts"
import { UnsupportedParameter } from "./errors.ts"
import { Moment, wholeNumber } from "./fields.ts"
import { parseNetwork } from "./Network.ts"
import { Target, targets } from "./Target.ts"

/** The bounds of a key, with which it can be handed out (R50). */

export const maxNetworks = 32

/** The bounds of a key. One that is undefined does not bind. */
export interface KeyBounds {
  /** Unix milliseconds. */
  readonly expiresAt: number | undefined
  readonly budget: Budget | undefined
  /** In the order of the list of targets. */
  readonly targets: ReadonlyArray<Target> | undefined
  /** In CIDR form, as `canonicalNetwork` writes them. */
  readonly networks: ReadonlyArray<string> | undefined
}

export const unbounded: KeyBounds = {
  expiresAt: undefined,
  budget: undefined,
  targets: undefined,
  networks: undefined
}

/** A change of bounds: null removes one, and one that is absent stays. */
export type BoundsChange = { readonly [K in keyof KeyBounds]?: Exclude<KeyBounds[K], undefined> | null | undefined }

export const changeBounds = (bounds: KeyBounds, change: BoundsChange): KeyBounds => {
  const { budget = bounds.budget, expiresAt = bounds.expiresAt, networks = bounds.networks } = change
  const { targets = bounds.targets } = change
  return {
    expiresAt: expiresAt ?? undefined,
    budget: budget ?? undefined,
    targets: targets ?? undefined,
    networks: networks ?? undefined
  }
}

/** The one form in which a network is kept and shown. Undefined for what is no network. */
export const canonicalNetwork = (text: string): string | undefined => {
  const network = parseNetwork(text)
  return network === undefined ? undefined : IpNetwork.format(network)
}

/** Networks that an address can be compared with. */
export const readNetworks = (networks: ReadonlyArray<string>): ReadonlyArray<IpNetwork.IpNetwork> =>
  networks.flatMap((text) => parseNetwork(text) ?? [])

export const isWithin = (
  networks: ReadonlyArray<IpNetwork.IpNetwork>,
  address: NetAddress.IpAddress | undefined
): boolean => address !== undefined && networks.some((network) => IpNetwork.contains(network, address))

/** The error of a search whose target the key may not use. */
export const forbiddenTarget = (target: Target, allowed: ReadonlyArray<Target>): UnsupportedParameter =>
  new UnsupportedParameter({
    message: `This API key may not use target ${target}: it accepts ${allowed.join(", ")}.`
  })

const notNetwork =
  "must be a network in CIDR form with no bit set after its prefix, such as 203.0.113.0/24 or 2001:db8::/32"

const Network = Schema.String.annotate({ message: notNetwork }).pipe(
  Schema.decodeTo(
    Schema.String,
    SchemaTransformation.transformEffect({
      decode: (text: string) => {
        const network = canonicalNetwork(text)
        return network === undefined
          ? Effect.fail(new SchemaIssue.InvalidValue({ message: notNetwork }))
          : Effect.succeed(network)
      },
      encode: (text) => Effect.succeed(text)
    })
  )
)

const listOf = <S extends Schema.Constraint>(item: S, most: number, noun: string) => {
  const message = `must be a list of 1 to ${most} ${noun}, or null`
  const list = Schema.Array(item).check(Schema.isMinLength(1, { message }), Schema.isMaxLength(most, { message }))
  return Schema.optionalKey(Schema.NullOr(list).annotate({ message }))
}

const budgetMessage = "must be an object with credits and period, or null"

export const BudgetPeriod = Schema.Literals(budgetPeriods).annotate({
  identifier: "BudgetPeriod",
  description: "A day or a month of the UTC calendar, or the life of the key",
  message: `must be one of ${budgetPeriods.join(", ")}`
})

const NewBudget = Schema.Struct({
  credits: wholeNumber(maxBudgetCredits, { description: "Credits that may be spent in one period" }).pipe(
    Schema.annotateKey({ messageMissingKey: "is required" })
  ),
  period: BudgetPeriod.pipe(Schema.annotateKey({ messageMissingKey: "is required" }))
}).annotate({ identifier: "NewBudget" })

/** The fields of bounds in the body of a request. */
export const boundsFields = {
  expires_at: Schema.optionalKey(
    Schema.NullOr(Moment).annotate({
      message: "must be a date or a time with its zone in ISO 8601, such as 2026-01-31 or 2026-01-31T08:00:00Z, or null"
    })
  ),
  budget: Schema.optionalKey(Schema.NullOr(NewBudget).annotate({ message: budgetMessage })),
  targets: listOf(Target, targets.length, "targets"),
  networks: listOf(Network, maxNetworks, "networks")
}

const BoundsInput = Schema.Struct(boundsFields)

/** The change that a body asks for. */
export const toChange = (input: typeof BoundsInput.Type): BoundsChange => {
  const { budget, expires_at: expiresAt, networks, targets: allowed } = input
  return {
    expiresAt,
    budget,
    targets: allowed?.length === undefined ? allowed : targets.filter((target) => allowed.includes(target)),
    networks: networks?.length === undefined ? networks : Arr.dedupe(networks)
  }
}
