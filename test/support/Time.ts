import { type Duration, Effect } from "effect"
import { TestClock } from "effect/testing"

/** Lets every fiber that can run go on until it waits for something. */
export const settle = Effect.forEach(Array(50), () => Effect.yieldNow, { discard: true })

/** Moves the test's clock, with every fiber at rest before and after: what is due has happened when it returns. */
export const advance = (by: Duration.Input) => settle.pipe(Effect.andThen(TestClock.adjust(by)), Effect.andThen(settle))
