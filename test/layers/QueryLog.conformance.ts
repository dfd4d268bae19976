import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Accounts } from "../../src/services/Accounts.ts"
import type { Ids } from "../../src/services/Ids.ts"
import type { Ledger } from "../../src/services/Ledger.ts"
import { QueryLog } from "../../src/services/QueryLog.ts"
import { discrepanciesOf, makeAccount, makeRecord } from "../support/searches.ts"

/** What any query log promises. */
export const queryLogConformance = (it: Vitest.MethodsNonLive<Accounts | Ids | Ledger | QueryLog>): void => {
  it.effect("recent entries are the account's own, newest first, as many as asked for", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const account = yield* makeAccount({ plan: "starter" })
      const other = yield* makeAccount({ plan: "starter" })
      for (const query of ["one", "two", "three"]) {
        yield* TestClock.adjust("1 second")
        yield* log.append([{ ...(yield* makeRecord(account, query)), credits: 0 }])
        yield* log.append([{ ...(yield* makeRecord(other, query)), credits: 0 }])
      }
      const recent = yield* log.recent(account.id, 2)
      assert.deepStrictEqual(
        recent.map(({ accountId, request }) => [accountId, request.query]),
        [
          [account.id, "three"],
          [account.id, "two"]
        ]
      )
      assert.isAbove(recent[0]?.at ?? 0, 0)
    })
  )

  it.effect("searches that no account pays for are written as they are, and upset no book", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const account = yield* makeAccount({ plan: "starter" })
      yield* log.append([])
      const record = { ...(yield* makeRecord(account, "free")), credits: 0 }
      yield* log.append([yield* makeRecord(undefined), record])
      const [logged] = yield* log.recent(account.id, 10)
      const { at: _, ...entry } = logged ?? { at: 0 }
      assert.deepStrictEqual(entry, record)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )
}
