import type { Effect } from "effect"
import * as acts from "../../services/operations/audited.ts"
import { asOperator } from "./operator.ts"

export const audited = <A, E, R>(change: Effect.Effect<A, E, R>, commandOf: (result: A) => acts.Command) =>
  asOperator(acts.audited(change, commandOf))

export const recordFirst = (command: acts.Command) => asOperator(acts.recordFirst(command))
