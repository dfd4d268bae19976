import { Schema } from "effect"
import { Forbidden } from "../errors.ts"

/** A person's part in an account (R67). */
export const roles = ["owner", "developer", "billing", "viewer"] as const
export const Role = Schema.Literals(roles).annotate({
  identifier: "Role",
  message: `must be one of ${roles.join(", ")}`
})
export type Role = (typeof roles)[number]

export const everyRole: ReadonlyArray<Role> = roles
export const ownerOnly: ReadonlyArray<Role> = ["owner"]
/** Search, keys and webhooks. */
export const builders: ReadonlyArray<Role> = ["owner", "developer"]
/** The plan, packs and the payment portal. */
export const payers: ReadonlyArray<Role> = ["owner", "billing"]
/** The query log, and the names and limits of keys. */
export const readers: ReadonlyArray<Role> = ["owner", "developer", "viewer"]

const listed = new Intl.ListFormat("en", { type: "disjunction" })

export const forbiddenTo = (role: Role, allowed: ReadonlyArray<Role>): Forbidden =>
  new Forbidden({
    message: `Only the role ${listed.format(allowed)} may do this. Your role in this account is ${role}.`
  })

/** False for the removal (`after` is undefined) or demotion of the only owner. */
export const keepsOwner = (before: Role, after: Role | undefined, otherOwners: number): boolean =>
  before !== "owner" || after === "owner" || otherOwners > 0
