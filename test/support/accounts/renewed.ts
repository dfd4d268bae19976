import { Effect, Exit, Scope } from "effect"

/**
 * Something that the tests of a file share, such as a server: made by the first test that asks for it, and made anew by the
 * next one when making it failed or when it is gone, so that a test that is tried again does not meet what broke before.
 */
export const renewed = Effect.fnUntraced(function* <A>(
  make: Effect.Effect<A, unknown, Scope.Scope>,
  isThere: (thing: A) => boolean
) {
  const scope = yield* Effect.scope
  let last: { readonly thing: A; readonly end: Effect.Effect<void> } | undefined
  return Effect.gen(function* () {
    if (last !== undefined && isThere(last.thing)) return last.thing
    if (last !== undefined) yield* last.end
    last = undefined
    const own = yield* Scope.fork(scope)
    const thing = yield* Scope.provide(make, own).pipe(
      Effect.orDie,
      Effect.onExit((exit) => (Exit.isFailure(exit) ? Scope.close(own, exit) : Effect.void))
    )
    last = { thing, end: Scope.close(own, Exit.void) }
    return thing
  })
})
