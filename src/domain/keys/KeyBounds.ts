import { Array as Arr, Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { IpNetwork, type NetAddress } from "effect/net"
import { type Budget, type budgetHolders, budgetPeriods, maxBudgetCredits } from "../credits/Budget.ts"
import { UnsupportedParameter } from "../errors.ts"
import { parseNetwork } from "../net/Network.ts"
import { Moment, wholeNumber } from "../requests/fields.ts"
import { AnyTarget, allTargets } from "../search/Target.ts"

export const maxNetworks = 32

/** Undefined bounds are unlimited. */
export interface KeyBounds {
  readonly expiresAt: number | undefined
  readonly budget: Budget | undefined
  readonly targets: ReadonlyArray<AnyTarget> | undefined
  readonly networks: ReadonlyArray<string> | undefined
}

export const unbounded: KeyBounds = {
  expiresAt: undefined,
  budget: undefined,
  targets: undefined,
  networks: undefined
}

/** Null removes a bound; an absent field keeps it. */
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

/** The form in which networks are stored and shown. Undefined if the text is not a network. */
export const canonicalNetwork = (text: string): string | undefined => {
  const network = parseNetwork(text)
  return network === undefined ? undefined : IpNetwork.format(network)
}

export const readNetworks = (networks: ReadonlyArray<string>): ReadonlyArray<IpNetwork.IpNetwork> =>
  networks.flatMap((text) => parseNetwork(text) ?? [])

export const isWithin = (
  networks: ReadonlyArray<IpNetwork.IpNetwork>,
  address: NetAddress.IpAddress | undefined
): boolean => address !== undefined && networks.some((network) => IpNetwork.contains(network, address))

export const forbiddenTarget = (
  holder: (typeof budgetHolders)[number],
  target: AnyTarget,
  allowed: ReadonlyArray<AnyTarget>
): UnsupportedParameter =>
  new UnsupportedParameter({
    message:
      `This ${holder} cannot use the target ${target}. ` +
      (allowed.length === 0 ? "No target is allowed." : `Allowed targets: ${allowed.join(", ")}.`)
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
  description: "A UTC calendar day or month, or the lifetime of the key",
  message: `must be one of ${budgetPeriods.join(", ")}`
})

const required = { messageMissingKey: "is required" }

const budgetFields = {
  credits: wholeNumber(maxBudgetCredits, { description: "Credits that can be spent per period" }).pipe(
    Schema.annotateKey(required)
  )
}

const optionalBudget = <S extends Schema.Constraint>(budget: S) =>
  Schema.optionalKey(Schema.NullOr(budget).annotate({ message: budgetMessage }))

const NewBudget = Schema.Struct({ ...budgetFields, period: BudgetPeriod.pipe(Schema.annotateKey(required)) }).annotate({
  identifier: "NewBudget"
})

/** A list: a single literal would tell the alternatives of a union apart, and its own error would be lost. */
const Month = Schema.Literals(["month"]).annotate({ description: "A UTC calendar month", message: "must be month" })

const NewMemberBudget = Schema.Struct({ ...budgetFields, period: Month.pipe(Schema.annotateKey(required)) }).annotate({
  identifier: "NewMemberBudget"
})

/** Bounds that an owner sets for a member (R67). */
export const memberBoundsFields = {
  budget: optionalBudget(NewMemberBudget),
  targets: listOf(AnyTarget, allTargets.length, "targets")
}

export const boundsFields = {
  expires_at: Schema.optionalKey(
    Schema.NullOr(Moment).annotate({
      message: "must be a date or a time with its zone in ISO 8601, such as 2026-01-31 or 2026-01-31T08:00:00Z, or null"
    })
  ),
  budget: optionalBudget(NewBudget),
  targets: memberBoundsFields.targets,
  networks: listOf(Network, maxNetworks, "networks")
}

const BoundsInput = Schema.Struct(boundsFields)

export const toChange = (input: typeof BoundsInput.Type): BoundsChange => {
  const { budget, expires_at: expiresAt, networks, targets: allowed } = input
  return {
    expiresAt,
    budget,
    targets: allowed?.length === undefined ? allowed : allTargets.filter((target) => allowed.includes(target)),
    networks: networks?.length === undefined ? networks : Arr.dedupe(networks)
  }
}
