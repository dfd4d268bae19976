import { Console, Context, Deferred, Effect, Layer } from "effect"

/** Violations that are shown one by one; the rest is counted. */
const maxShown = 20

/** What a run finds out: it tells while it goes on, and remembers what must not be. */
export class Findings extends Context.Service<
  Findings,
  {
    /** Tells what was done or measured. */
    readonly note: (text: string) => Effect.Effect<void>
    /** A promise was broken. */
    readonly violation: (text: string) => Effect.Effect<void>
    readonly violations: Effect.Effect<ReadonlyArray<string>>
    /** Completes with the first violation. */
    readonly broken: Effect.Effect<void>
  }
>()("quarry/test/torture/Findings") {
  static readonly layer = Layer.sync(Findings, () => {
    const violations: Array<string> = []
    const broken = Deferred.makeUnsafe<void>()
    return Findings.of({
      note: (text) => Console.log(`  ${text}`),
      violation: (text) =>
        Effect.suspend(() => {
          violations.push(text)
          if (violations.length > maxShown + 1) return Effect.void
          return Console.log(violations.length > maxShown ? "  VIOLATION: … and more" : `  VIOLATION: ${text}`)
        }).pipe(Effect.andThen(Deferred.succeed(broken, undefined))),
      violations: Effect.sync(() => violations),
      broken: Deferred.await(broken)
    })
  })
}
