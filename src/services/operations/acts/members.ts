import { Effect } from "effect"
import { normalizeEmail } from "../../../domain/accounts/emailAddress.ts"
import { NotFound } from "../../../domain/errors.ts"
import type { FieldsOf } from "../../../domain/operations/acts.ts"
import { type Member, Members } from "../../accounts/Members.ts"
import { audited } from "../audited.ts"
import { accountById } from "./accounts.ts"

export const findMember = Effect.fnUntraced(function* (accountId: string, email: string) {
  const { id } = yield* accountById(accountId)
  const members = yield* Effect.flatMap(Members, (service) => service.list(id))
  const member = members.find((it) => it.email === normalizeEmail(email))
  return member ?? (yield* new NotFound({ message: `${email} is not a member of ${accountId}.` }))
})

/** Without the address, because audit entries outlive the account. */
export const memberRecord = (command: string, subject: string, { id, role }: Member) => ({
  command,
  subject,
  arguments: { member: id, role }
})

export const setRole = Effect.fnUntraced(function* ({ account, email, role }: FieldsOf<"member role">) {
  const found = yield* findMember(account, email)
  const members = yield* Members
  return yield* audited(members.change(account, found.id, { role }), (it) => memberRecord("member role", account, it))
})

export const removeMember = Effect.fnUntraced(function* ({ account, email }: FieldsOf<"member remove">) {
  const found = yield* findMember(account, email)
  const members = yield* Members
  return yield* audited(members.remove(account, found.id), (it) => memberRecord("member remove", account, it))
})
