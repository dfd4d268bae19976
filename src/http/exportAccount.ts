import { Effect, Option, Schema, Stream } from "effect"
import type { Account } from "../domain/Account.ts"
import { everything, type Position } from "../domain/QueryHistory.ts"
import { KeyStore } from "../services/KeyStore.ts"
import { Ledger } from "../services/Ledger.ts"
import { QueryLog } from "../services/QueryLog.ts"
import { AccountExport } from "./groups/AccountGroup.ts"
import { LoggedQuery } from "./groups/UsageGroup.ts"
import { toKey } from "./handlers/keys.ts"
import { toLoggedQuery } from "./handlers/usage.ts"

const { queries: _, ...head } = AccountExport.fields

/** The export as JSON in pieces: all but the queries, and each of those. */
const encodeHead = Schema.encodeSync(Schema.fromJsonString(Schema.Struct(head)))
const encodeQuery = Schema.encodeSync(Schema.fromJsonString(LoggedQuery))

/** Entries that an export reads at a time: it is as long as the log, and is never in memory as a whole. */
const pageEntries = 1_000

/**
 * Everything that is kept about an account, as one JSON document in pieces: for the person, and for the operator. It fails
 * before the first piece where the account cannot be read, so that a response can still be an error.
 */
export const exportAccount = Effect.fnUntraced(function* (account: Account) {
  const ledger = yield* Ledger
  const store = yield* KeyStore
  const queryLog = yield* QueryLog
  const { balance, plan, quota, used } = yield* ledger.allowance(account)
  const { createdAt, email, id } = account
  const start = encodeHead({
    account: { id, email, plan, quota: quota ?? null, used, balance, created_at: createdAt },
    api_keys: (yield* store.list(id)).map(toKey)
  })
  const queries = Stream.paginate(undefined as Position | undefined, (after) =>
    Effect.map(
      queryLog.history(id, { filter: everything, after, limit: pageEntries }),
      ({ entries, next }) =>
        [[entries.map((entry) => encodeQuery(toLoggedQuery(entry))).join(",")], Option.fromUndefinedOr(next)] as const
    )
  )
  return Stream.make(`${start.slice(0, -1)},"queries":[`).pipe(
    Stream.concat(Stream.intersperse(queries, ",")),
    Stream.concat(Stream.make("]}"))
  )
})
