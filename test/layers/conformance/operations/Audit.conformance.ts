import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Ids } from "../../../../src/services/Ids.ts"
import { Audit, type AuditQuery, type AuditRecord } from "../../../../src/services/operations/Audit.ts"
import { makeEmail } from "../../../support/api/searches.ts"

const everything: AuditQuery = {
  operator: undefined,
  command: undefined,
  subject: undefined,
  from: undefined,
  to: undefined,
  before: undefined,
  limit: 100
}

const record = (subject: string | undefined, fields: Partial<AuditRecord> = {}): AuditRecord => ({
  operator: "ada",
  command: "account suspend",
  subject,
  arguments: {},
  ...fields
})

/** What any record of commands promises. */
export const auditConformance = (it: Vitest.MethodsNonLive<Accounts | Audit | Ids>): void => {
  it.effect("an entry has who, what, when and the arguments, newest first", () =>
    Effect.gen(function* () {
      const audit = yield* Audit
      const subject = yield* (yield* Ids).make("acc_")
      const args = { credits: 10, reason: 'it\'s "quoted"', dry: false, target: null }
      yield* audit.append(record(subject))
      yield* audit.append(record(subject, { operator: "grace", command: "account grant", arguments: args }))
      const [second, first, ...others] = yield* audit.list({ ...everything, subject })
      assert.deepStrictEqual(others, [])
      assert.deepInclude(first, { operator: "ada", command: "account suspend", subject, arguments: {} })
      assert.deepInclude(second, { operator: "grace", command: "account grant", subject, arguments: args })
      assert.isTrue((second?.id ?? 0) > (first?.id ?? 0) && (second?.at ?? 0) >= (first?.at ?? 0))
    })
  )

  it.effect("entries are found by operator, command, subject and time, and page by page", () =>
    Effect.gen(function* () {
      const audit = yield* Audit
      const { make } = yield* Ids
      const [operator, subject] = [yield* make("acc_"), yield* make("key_")]
      for (const command of ["a", "b", "a", "c"]) yield* audit.append(record(subject, { operator, command }))
      yield* audit.append(record(undefined, { operator }))
      const commands = (query: Partial<AuditQuery>) =>
        Effect.map(audit.list({ ...everything, operator, ...query }), (all) => all.map(({ command }) => command))
      assert.deepStrictEqual(yield* commands({}), ["account suspend", "c", "a", "b", "a"])
      assert.deepStrictEqual(yield* commands({ subject }), ["c", "a", "b", "a"])
      assert.deepStrictEqual(yield* commands({ subject, command: "a" }), ["a", "a"])
      assert.deepStrictEqual(yield* commands({ subject: "key_none" }), [])
      const page = yield* audit.list({ ...everything, operator, limit: 2 })
      assert.deepStrictEqual(yield* commands({ before: page.at(-1)?.id, limit: 2 }), ["a", "b"])
      const at = page[0]?.at ?? 0
      assert.deepStrictEqual(yield* commands({ from: at + 1 }), [])
      assert.deepStrictEqual(yield* commands({ to: at + 1 }), yield* commands({}))
      assert.deepStrictEqual((yield* commands({ from: at }))[0], "account suspend")
    })
  )

  it.effect("a change and its entry are there together", () =>
    Effect.gen(function* () {
      const audit = yield* Audit
      const accounts = yield* Accounts
      const email = yield* makeEmail
      const account = yield* audit.recorded(accounts.create({ email, plan: "starter" }), ({ id }) => record(id))
      assert.deepStrictEqual(yield* accounts.byId(account.id), account)
      assert.lengthOf(yield* audit.list({ ...everything, subject: account.id }), 1)
    })
  )

  it.effect("a change that fails leaves no entry, and fails with its own error", () =>
    Effect.gen(function* () {
      const audit = yield* Audit
      const accounts = yield* Accounts
      const subject = yield* (yield* Ids).make("acc_")
      const failure = yield* Effect.flip(audit.recorded(accounts.suspend(subject), () => record(subject)))
      assert.strictEqual(failure._tag, "not_found")
      assert.deepStrictEqual(yield* audit.list({ ...everything, subject }), [])
    })
  )
}
