import { Console, Context, Deferred, Effect, Layer } from "effect"

/** Violations that are printed. The rest are counted. */
const maxShown = 20

/** Reports progress, and collects violations. */
export class Findings extends Context.Service<
  Findings,
  {
    /** Reports what was done or measured. */
    readonly note: (text: string) => Effect.Effect<void>
    /** Reports a broken promise. */
    readonly violation: (text: string) => Effect.Effect<void>
    readonly violations: Effect.Effect<ReadonlyArray<string>>
    /** Completes at the first violation. */
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
