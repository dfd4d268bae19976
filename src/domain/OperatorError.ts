import { type Cause, Data, Predicate } from "effect"

const mark = Symbol.for("quarry/domain/OperatorError")

/** Named, because declarations cannot describe the class that the function returns. */
type OperatorErrorClass<Tag extends string> = new (fields: {
  readonly message: string
}) => Cause.YieldableError & { readonly _tag: Tag; readonly message: string }

/** An error that the operator can fix. The message says what to do and is shown without cause or stack trace. */
export const OperatorError = <const Tag extends string>(tag: Tag): OperatorErrorClass<Tag> =>
  class extends Data.TaggedError(tag)<{ readonly message: string }> {
    readonly [mark] = true
  }

export const isOperatorError = (error: unknown): error is Error =>
  error instanceof Error && Predicate.hasProperty(error, mark)

/** An operator's command that is valid and cannot be carried out. */
export class CommandFailed extends OperatorError("CommandFailed") {}
