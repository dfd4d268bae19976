import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { InvalidRequest } from "../../domain/errors.ts"
import { decodeAct, readOnlyActs } from "../../domain/operations/acts.ts"
import { type ActServices, actServices, perform } from "../../services/operations/acts/perform.ts"
import { OperatorApi } from "./OperatorApi.ts"
import { CurrentConsoleUser, denialOfActs } from "./OperatorGate.ts"

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
