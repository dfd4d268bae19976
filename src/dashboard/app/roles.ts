import type { Answer } from "../api/routes.ts"
import { role } from "./session.ts"

/** Copies of the groups in `domain/accounts/Role.ts`, which would load Effect. A test compares them. */
export const roleGroups = {
  ownerOnly: ["owner"],
  builders: ["owner", "developer"],
  payers: ["owner", "billing"],
  readers: ["owner", "developer", "viewer"]
} as const

export type Role = Answer<"GET /v1/session/account">["accounts"][number]["role"]

export const roleTexts: ReadonlyArray<readonly [role: Role, text: string]> = [
  ["owner", "May do everything, including inviting people and deleting the account."],
  ["developer", "May search, manage API keys and webhooks, and read the log and usage."],
  ["billing", "May change the plan, buy credits, and read usage."],
  ["viewer", "May read the log, usage, and the names and limits of API keys."]
]

export type RoleGroup = keyof typeof roleGroups

/** True until the role is known, so that pages do not wait for it. The server refuses what the role may not do. */
export const isOneOf = (group: RoleGroup): boolean =>
  role.value === undefined || roleGroups[group].some((name) => name === role.value)
