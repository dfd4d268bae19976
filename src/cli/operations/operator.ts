import { Context, Effect, Option, Schema } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { CurrentOperator } from "../../services/operations/CurrentOperator.ts"
import { operatorNamePattern } from "../../settings/forms.ts"
import { AppConfig } from "../../settings/Settings.ts"

const Name = Schema.String.check(
  Schema.isPattern(operatorNamePattern, { message: "must have 1 to 100 characters and no control characters" })
)

export const By = GlobalFlag.Setting("by")({
  flag: Flag.String("by").pipe(
    Flag.withDescription("Operator name for the audit log (default: QUARRY_OPERATOR, or the system user)"),
    Flag.withSchema(Name),
    Flag.optional
  )
})

export const SystemUser = Context.Reference("quarry/references/SystemUser", { defaultValue: () => "unknown" })

export const operator = Effect.gen(function* () {
  const by = Option.getOrUndefined(yield* By) ?? (yield* AppConfig).quarryOperator
  return by ?? (yield* SystemUser)
})

/** Records an act with the name of the operator who runs the command. */
export const asOperator = <A, E, R>(act: Effect.Effect<A, E, R>) =>
  Effect.provideServiceEffect(act, CurrentOperator, operator)
