import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { remaining } from "../../domain/Account.ts"
import { Ledger } from "../../services/Ledger.ts"
import { Api } from "../Api.ts"
import { CurrentPrincipal } from "../Middleware.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "account",
  Effect.fn(function* (handlers) {
    const ledger = yield* Ledger

    return handlers.handle(
      "me",
      Effect.fnUntraced(function* () {
        const { account, key } = yield* CurrentPrincipal
        const allowance = yield* ledger.allowance(account)
        return {
          email: account.email,
          plan: allowance.plan,
          credits_available: remaining(allowance) + allowance.balance,
          api_key: key
        }
      })
    )
  })
)
