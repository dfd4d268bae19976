import { Context, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { InvalidRequest } from "../../domain/errors.ts"
import { decodeAct, readOnlyActs } from "../../domain/operations/acts.ts"
import { AccountRemoval } from "../../services/accounts/AccountRemoval.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { Emails } from "../../services/accounts/Emails.ts"
import { Invitations } from "../../services/accounts/Invitations.ts"
import { Members } from "../../services/accounts/Members.ts"
import { People } from "../../services/accounts/People.ts"
import { QueryLog } from "../../services/charging/QueryLog.ts"
import { Ledger } from "../../services/credits/Ledger.ts"
import { DocumentIndex } from "../../services/index/DocumentIndex.ts"
import { KeyStore } from "../../services/keys/KeyStore.ts"
import { Audit } from "../../services/operations/Audit.ts"
import { type ActServices, perform } from "../../services/operations/acts/perform.ts"
import { Replicas } from "../../services/operations/Replicas.ts"
import { Limits } from "../../services/providers/Limits.ts"
import { ProviderPauses } from "../../services/providers/ProviderPauses.ts"
import { ProviderStates } from "../../services/providers/ProviderStates.ts"
import { EventBooks } from "../../services/webhooks/EventBooks.ts"
import { OperatorApi } from "./OperatorApi.ts"
import { CurrentConsoleUser, denialOfActs } from "./OperatorGate.ts"

export const actServices = Context.pick(
  AccountRemoval,
  Accounts,
  Audit,
  DocumentIndex,
  Emails,
  EventBooks,
  Invitations,
  KeyStore,
  Ledger,
  Limits,
  Members,
  People,
  ProviderPauses,
  ProviderStates,
  QueryLog,
  Replicas
)

/** The message says why, and what to do. */
const impossible = ({ message }: { readonly message: string }) => Effect.fail(InvalidRequest.whole(message))

export const layer = HttpApiBuilder.group(
  OperatorApi,
  "acts",
  Effect.fn(function* (handlers) {
    const services = actServices(yield* Effect.context<ActServices>())

    return handlers.handleAll({
      me: () => Effect.map(CurrentConsoleUser, ({ email, isFresh, role }) => ({ email, role, is_fresh: isFresh })),
      act: Effect.fnUntraced(function* ({ payload }) {
        const act = yield* Effect.fromResult(decodeAct(payload))
        const denial = readOnlyActs.has(act.command) ? undefined : denialOfActs(yield* CurrentConsoleUser)
        if (denial !== undefined) return yield* denial
        return yield* perform(act).pipe(
          // A browser that leaves must not stop an act between its steps.
          Effect.uninterruptible,
          Effect.provide(services),
          Effect.catchTags({
            AccountError: impossible,
            CommandFailed: impossible,
            CorrectionImpossible: impossible,
            GrantDiffers: impossible,
            PersonError: impossible
          })
        )
      })
    })
  })
)
