import { Context, Effect, Fiber, type Scope } from "effect"
import type { RecordFields, RequestRecord } from "../../domain/requests/RequestRecord.ts"

/** The record of the request that a fiber works for (R2). Undefined outside requests. */
export const CurrentRecord = Context.Reference<RequestRecord | undefined>("quarry/services/telemetry/CurrentRecord", {
  defaultValue: () => undefined
})

export const requestId: Effect.Effect<string | undefined> = Effect.map(CurrentRecord, (record) => record?.id)

export const addFields = (fields: RecordFields): Effect.Effect<void> =>
  Effect.map(CurrentRecord, (record) => {
    if (record !== undefined) Object.assign(record.fields, fields)
  })

/** Forks work that must not end when the caller disconnects. */
export const forkRecorded = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  scope: Scope.Scope
): Effect.Effect<Fiber.Fiber<A, E>, never, R> =>
  Effect.flatMap(CurrentRecord, (record) =>
    Effect.map(Effect.forkIn(work, scope, { startImmediately: true }), (fiber) => {
      record?.work.push(Fiber.await(fiber))
      return fiber
    })
  )
