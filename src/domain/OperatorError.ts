import { Data, Predicate } from "effect"

const mark = Symbol.for("quarry/domain/OperatorError")

/**
 * Makes a class of errors that the operator can mend. The message says in plain words what to do, and is shown without
 * a cause or a stack.
 */
export const OperatorError = <const Tag extends string>(tag: Tag) =>
  class extends Data.TaggedError(tag)<{ readonly message: string }> {
    readonly [mark] = true
  }

export const isOperatorError = (error: unknown): error is Error =>
  error instanceof Error && Predicate.hasProperty(error, mark)
