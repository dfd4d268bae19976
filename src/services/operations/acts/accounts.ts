import { Effect } from "effect"
import type { FieldsOf } from "../../../domain/operations/acts.ts"
import { parseMoment, toMomentOrNull } from "../../../domain/requests/fields.ts"
import { AccountRemoval } from "../../accounts/AccountRemoval.ts"
import { Accounts } from "../../accounts/Accounts.ts"
import { People } from "../../accounts/People.ts"
import { QueryLog } from "../../charging/QueryLog.ts"
import { audited } from "../audited.ts"

export const accountById = (id: string) => Effect.flatMap(Accounts, (accounts) => accounts.byId(id))

export const suspend = Effect.fnUntraced(function* ({ id, reason }: FieldsOf<"account suspend">) {
  const accounts = yield* Accounts
  return yield* audited(accounts.suspend(id), (account) => ({
    command: "account suspend",
    subject: account.id,
    arguments: { reason }
  }))
})

export const resume = Effect.fnUntraced(function* ({ id, reason }: FieldsOf<"account resume">) {
  const accounts = yield* Accounts
  return yield* audited(accounts.resume(id), (account) => ({
    command: "account resume",
    subject: account.id,
    arguments: { reason }
  }))
})

/** Undefined limits are those of the plan, and an undefined start keeps the cycle. */
export const choiceOf = ({ concurrency, cycle_start, plan, quota }: Omit<FieldsOf<"account set-plan">, "id">) => {
  const cycleStart = cycle_start === undefined ? undefined : parseMoment(cycle_start)
  return {
    choice: { plan, quota, concurrency, cycleStart },
    arguments: { plan, quota, concurrency, cycle_start: toMomentOrNull(cycleStart) ?? undefined }
  }
}

export const setPlan = Effect.fnUntraced(function* ({ id, ...terms }: FieldsOf<"account set-plan">) {
  const accounts = yield* Accounts
  const { choice, ...record } = choiceOf(terms)
  return yield* audited(accounts.setPlan(id, choice), (account) => ({
    command: "account set-plan",
    subject: account.id,
    ...record
  }))
})

export const setEmail = Effect.fnUntraced(function* ({ email, id }: FieldsOf<"account set-email">) {
  const accounts = yield* Accounts
  const people = yield* People
  const before = yield* accounts.byId(id)
  const change = Effect.tap(accounts.setEmail(id, email), () => people.setEmail(before, email))
  return yield* audited(change, (account) => ({ command: "account set-email", subject: account.id }))
})

export const remove = Effect.fnUntraced(function* ({ id }: FieldsOf<"account delete">) {
  const account = yield* accountById(id)
  const removal = yield* AccountRemoval
  yield* audited(removal.end(account.id), () => ({ command: "account delete", subject: account.id }))
  yield* Effect.flatMap(QueryLog, (log) => log.erase(account.id))
  return { account_id: account.id, deleted: true }
})

export const endSessions = Effect.fnUntraced(function* ({ account: accountId }: FieldsOf<"sessions end">) {
  const account = yield* accountById(accountId)
  const people = yield* People
  const ended = yield* audited(people.endSessions(account.id), (sessions) => ({
    command: "sessions end",
    subject: account.id,
    arguments: { sessions }
  }))
  return { account_id: account.id, ended }
})
