import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { remaining } from "../../domain/Account.ts"
import { unauthorized } from "../../domain/errors.ts"
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
        const principal = yield* CurrentPrincipal
        // The demo has no account to show; its header is accepted on the search routes only.
        if (principal._tag === "demo") return yield* unauthorized
        const allowance = yield* ledger.allowance(principal.account)
        return {
          email: principal.account.email,
          plan: allowance.plan,
          credits_available: remaining(allowance) + allowance.balance,
          api_key: principal._tag === "key" ? principal.key : null
        }
      })
    )
  })
)
