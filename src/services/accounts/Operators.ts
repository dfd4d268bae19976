import { Context, type Effect } from "effect"
import { NotFound } from "../../domain/errors.ts"
import type { OperatorRole } from "../../domain/operations/OperatorRole.ts"

export interface Operator {
  readonly personId: string
  readonly email: string
  readonly role: OperatorRole
  /** Unix milliseconds. */
  readonly since: number
  /** The operator who added the person. */
  readonly by: string
}

export interface ConsoleUser {
  readonly email: string
  readonly role: OperatorRole
  readonly hasSecondFactor: boolean
}

export const noSuchPerson = (email: string): NotFound => new NotFound({ message: `Nobody signs in with ${email}.` })

export const noSuchOperator = (email: string): NotFound =>
  new NotFound({ message: `${email} is not an operator. See them with: operator list` })

/** The people who may use the operator's console. A change takes effect with the person's next request. */
export class Operators extends Context.Service<
  Operators,
  {
    /** Changes the role of a person who already is one. Fails if nobody signs in with the address. */
    readonly add: (email: string, role: OperatorRole, by: string) => Effect.Effect<Operator, NotFound>
    readonly remove: (email: string) => Effect.Effect<Operator, NotFound>
    /** By address. */
    readonly list: Effect.Effect<ReadonlyArray<Operator>>
    readonly find: (personId: string) => Effect.Effect<ConsoleUser | undefined>
  }
>()("quarry/services/accounts/Operators") {}
