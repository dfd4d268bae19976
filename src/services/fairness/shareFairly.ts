import { type Context, Effect } from "effect"
import { type Payer, Payers } from "../../domain/fairness/Payers.ts"
import type { Flight, Flights } from "../waiting/Flights.ts"

/** Shares a run among callers with the same key, like `share`. `run` receives all accounts that wait for it. */
export const shareFairly = <A, E, R>(
  flights: Flights<A, Payers>,
  key: string,
  payer: Payer,
  run: (payers: Payers) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.callback((resume) => {
      // The cast: all runs of a key have the same type.
      const found = flights.find(key) as Flight<A, E, Payers> | undefined
      const payers = found?.note ?? new Payers()
      const leave = payers.add(payer)
      const flight = found ?? flights.start(key, run(payers), context, payers)
      const removeWaiter = flights.addWaiter(key, flight, resume)
      return Effect.sync(() => {
        removeWaiter()
        leave()
      })
    })
  )
