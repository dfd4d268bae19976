import type { EventType } from "../domain/Event.ts"

/** The types of events, in the words of the pages. The compiler misses one that is not listed. */
export const eventNames: Readonly<Record<EventType, string>> = {
  "credits.low": "Credits run low",
  "credits.exhausted": "All credits are used",
  "quota.reset": "A new period begins",
  "plan.changed": "The plan changes",
  "pack.granted": "Credits are added",
  "payment.past_due": "A payment fails",
  "key.created": "A key is made",
  "key.rotated": "A key is replaced",
  "key.revoked": "A key is revoked",
  "key.expiring": "A key expires soon"
}

/** The record's keys, which are the types. */
export const eventTypes = Object.keys(eventNames) as ReadonlyArray<EventType>
