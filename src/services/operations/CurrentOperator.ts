import { Context } from "effect"

/** The name of the operator who acts, for the audit log: of a command `--by`, of the console the person's address. */
export class CurrentOperator extends Context.Service<CurrentOperator, string>()(
  "quarry/services/operations/CurrentOperator"
) {}
