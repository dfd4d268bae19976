import { Context } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { Forbidden as ForbiddenTo, freshSignInRequired } from "../../domain/errors.ts"
import type { ConsoleUser } from "../../services/accounts/Operators.ts"
import type { CurrentOperator } from "../../services/operations/CurrentOperator.ts"
import { Forbidden, FreshSignInRequired, NotFound, RateLimited, Unauthorized } from "../errors.ts"
import type { CurrentPrincipal } from "../Gates.ts"

/** The operator or observer who sent the request. */
export class CurrentConsoleUser extends Context.Service<
  CurrentConsoleUser,
  Pick<ConsoleUser, "email" | "role"> & { readonly isFresh: boolean }
>()("quarry/http/CurrentConsoleUser") {}

/** Lets only operators and observers pass. Endpoints with `NeedsFreshSignIn` are for operators who just signed in. */
export class OperatorGate extends HttpApiMiddleware.Service<
  OperatorGate,
  { provides: CurrentPrincipal | CurrentConsoleUser | CurrentOperator }
>()("quarry/http/OperatorGate", { error: [RateLimited, Unauthorized, Forbidden, FreshSignInRequired, NotFound] }) {}

const operatorsOnly = new ForbiddenTo({
  message: "Observers can only read. Ask an operator to do this, or to run: operator add --role operator"
})

/** The reason for which this person may not change anything now. Undefined if the person may. */
export const denialOfActs = ({ isFresh, role }: CurrentConsoleUser["Service"]) => {
  if (role !== "operator") return operatorsOnly
  return isFresh ? undefined : freshSignInRequired
}
