import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { AccountPrincipal, KeyPrincipal } from "../../domain/accounts/Principal.ts"
import { type Allowance, creditsAvailable } from "../../domain/credits/Allowance.ts"
import { unauthorized } from "../../domain/errors.ts"
import { AccountRemoval } from "../../services/accounts/AccountRemoval.ts"
import { Activity } from "../../services/accounts/Activity.ts"
import type { Members } from "../../services/accounts/Members.ts"
import type { BillingBooks } from "../../services/billing/BillingBooks.ts"
import type { QueryLog } from "../../services/charging/QueryLog.ts"
import { Ledger } from "../../services/credits/Ledger.ts"
import type { KeyStore } from "../../services/keys/KeyStore.ts"
import type { EventBooks } from "../../services/webhooks/EventBooks.ts"
import { Api } from "../Api.ts"
import { currentAccount, currentAccountPrincipal } from "../Gates.ts"
import type { Account as Me } from "../groups/AccountGroup.ts"
import { jsonLines, wantsLines } from "../requests/accept.ts"
import { eventLines, exportAccount } from "./exportAccount.ts"

export const toMe = (principal: AccountPrincipal, allowance: Allowance): typeof Me.Type => ({
  email: principal.account.email,
  plan: allowance.plan,
  credits_available: creditsAvailable(allowance),
  api_key: principal._tag === "key" ? toMyKey(principal) : null
})

const toMyKey = ({ key: { id, label, mode } }: KeyPrincipal) => ({ id, label, mode })

export const layer = HttpApiBuilder.group(
  Api,
  "account",
  Effect.fn(function* (handlers) {
    const ledger = yield* Ledger
    const removal = yield* AccountRemoval
    const activity = yield* Activity
    const storage = yield* Effect.context<
      Activity | BillingBooks | EventBooks | Ledger | KeyStore | Members | QueryLog
    >()

    return handlers.handleAll({
      me: Effect.fnUntraced(function* () {
        const principal = yield* currentAccountPrincipal
        return toMe(principal, yield* ledger.allowance(principal.account))
      }),
      export: Effect.fnUntraced(function* () {
        const account = yield* currentAccount
        yield* activity.record(account.id, "account.exported", {})
        const document = yield* Effect.provideContext(exportAccount(account), storage)
        return HttpServerResponse.stream(Stream.encodeText(document), {
          contentType: "application/json",
          headers: { "content-disposition": 'attachment; filename="quarry-account.json"' }
        })
      }),
      events: Effect.fnUntraced(function* ({ query, request }) {
        const { id } = yield* currentAccount
        if (!wantsLines(request.headers.accept)) {
          const { entries, next } = yield* activity.page(id, query)
          return { events: entries, next_cursor: next ?? null }
        }
        yield* activity.record(id, "activity.exported", {})
        return HttpServerResponse.stream(Stream.encodeText(eventLines(activity, id, query)), {
          contentType: jsonLines,
          headers: { "content-disposition": 'attachment; filename="quarry-activity.ndjson"' }
        })
      }),
      remove: Effect.fnUntraced(function* () {
        const account = yield* currentAccount
        // If another request has already removed the account, the credential is no longer valid.
        yield* removal.remove(account.id).pipe(Effect.catchTag("not_found", () => Effect.fail(unauthorized)))
      })
    })
  })
)
