import { Effect, Option, Schema, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type Account, type Allowance, creditsAvailable } from "../../domain/Account.ts"
import { unauthorized } from "../../domain/errors.ts"
import type { AccountPrincipal } from "../../domain/Principal.ts"
import { everything, type Position } from "../../domain/QueryHistory.ts"
import { AccountRemoval } from "../../services/AccountRemoval.ts"
import { KeyStore } from "../../services/KeyStore.ts"
import { Ledger } from "../../services/Ledger.ts"
import { QueryLog } from "../../services/QueryLog.ts"
import { Api } from "../Api.ts"
import { AccountExport, type Account as Me } from "../groups/AccountGroup.ts"
import { LoggedQuery } from "../groups/UsageGroup.ts"
import { currentAccount, currentAccountPrincipal } from "../Middleware.ts"
import { toKey } from "./keys.ts"
import { toLoggedQuery } from "./usage.ts"

/** The account behind the credential, as `GET /v1/me` answers it. */
export const toMe = (principal: AccountPrincipal, allowance: Allowance): typeof Me.Type => ({
  email: principal.account.email,
  plan: allowance.plan,
  credits_available: creditsAvailable(allowance),
  api_key: principal._tag === "key" ? principal.key : null
})

const { queries: _, ...head } = AccountExport.fields

/** The export as JSON in pieces: all but the queries, and each of those. */
const encodeHead = Schema.encodeSync(Schema.fromJsonString(Schema.Struct(head)))
const encodeQuery = Schema.encodeSync(Schema.fromJsonString(LoggedQuery))

/** Entries that an export reads at a time: it is as long as the log, and is never in memory as a whole. */
const exportPageEntries = 1_000

export const layer = HttpApiBuilder.group(
  Api,
  "account",
  Effect.fn(function* (handlers) {
    const ledger = yield* Ledger
    const keys = yield* KeyStore
    const queryLog = yield* QueryLog
    const removal = yield* AccountRemoval

    const describeAccount = Effect.fnUntraced(function* (account: Account) {
      const { balance, plan, quota, used } = yield* ledger.allowance(account)
      const { createdAt, email, id } = account
      return { id, email, plan, quota: quota ?? null, used, balance, created_at: createdAt }
    })

    const pages = (accountId: string) =>
      Stream.paginate(undefined as Position | undefined, (after) =>
        Effect.map(
          queryLog.history(accountId, { filter: everything, after, limit: exportPageEntries }),
          ({ entries, next }) => [[entries.map(toLoggedQuery)], Option.fromUndefinedOr(next)] as const
        )
      )

    return handlers
      .handle(
        "me",
        Effect.fnUntraced(function* () {
          const principal = yield* currentAccountPrincipal
          return toMe(principal, yield* ledger.allowance(principal.account))
        })
      )
      .handle(
        "export",
        Effect.fnUntraced(function* () {
          const account = yield* currentAccount
          const head = encodeHead({
            account: yield* describeAccount(account),
            api_keys: (yield* keys.list(account.id)).map(toKey)
          })
          const queries = pages(account.id).pipe(
            Stream.map((page) => page.map((entry) => encodeQuery(entry)).join(",")),
            Stream.intersperse(",")
          )
          const parts = Stream.make(`${head.slice(0, -1)},"queries":[`).pipe(
            Stream.concat(queries),
            Stream.concat(Stream.make("]}")),
            Stream.encodeText
          )
          return HttpServerResponse.stream(parts, {
            contentType: "application/json",
            headers: { "content-disposition": 'attachment; filename="quarry-account.json"' }
          })
        })
      )
      .handle(
        "remove",
        Effect.fnUntraced(function* () {
          const account = yield* currentAccount
          // Somebody who deletes twice has no account the second time, and so no credential.
          yield* removal.remove(account.id).pipe(Effect.catchTag("not_found", () => Effect.fail(unauthorized)))
        })
      )
  })
)
