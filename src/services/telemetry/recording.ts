import { Effect, Fiber, type Scope } from "effect"
import {
  CurrentRequest,
  noRequest,
  type RecordFields,
  type RequestState
} from "../../domain/requests/CurrentRequest.ts"

const recorded: Effect.Effect<RequestState | undefined> = Effect.map(CurrentRequest, (state) =>
  state === noRequest ? undefined : state
)

export const requestId: Effect.Effect<string | undefined> = Effect.map(recorded, (state) => state?.id)

export const addFields = (fields: RecordFields): Effect.Effect<void> =>
  Effect.map(recorded, (state) => {
    if (state !== undefined) Object.assign(state.fields, fields)
  })

/** Forks work that must not end when the caller disconnects. */
export const forkRecorded = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  scope: Scope.Scope
): Effect.Effect<Fiber.Fiber<A, E>, never, R> =>
  Effect.flatMap(recorded, (state) =>
    Effect.map(Effect.forkIn(work, scope, { startImmediately: true }), (fiber) => {
      state?.work.push(Fiber.await(fiber))
      return fiber
    })
  )
