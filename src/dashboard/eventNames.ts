import type { EventType } from "../domain/webhooks/Event.ts"
import { keysOf } from "./keysOf.ts"

export const eventNames: Readonly<Record<EventType, string>> = {
  "credits.low": "Credits are running low",
  "credits.exhausted": "All credits are used",
  "quota.reset": "A new period starts",
  "plan.changed": "The plan changes",
  "pack.granted": "Credits are added",
  "payment.past_due": "A payment fails",
  "key.created": "A key is created",
  "key.rotated": "A key is rotated",
  "key.revoked": "A key is revoked",
  "key.expiring": "A key expires soon"
}

export const eventTypes = keysOf(eventNames)
