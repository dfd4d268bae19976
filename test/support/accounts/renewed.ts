import { Effect, Exit, Scope } from "effect"

/**
 * A resource shared by the tests of a file, such as a server. The first test that needs it creates it. If that fails or
 * it is gone, the next test creates it again, so that a retried test does not find it broken.
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
