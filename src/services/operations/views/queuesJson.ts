import { toMoment, toMomentOrNull } from "../../../domain/requests/fields.ts"
import type { AccountQueues, EndpointQueue } from "../../webhooks/EventBooks.ts"

const queueJson = ({ endpoint, failed, pausedAt, queued }: EndpointQueue) => ({
  id: endpoint.id,
  url: endpoint.url,
  created_at: toMoment(endpoint.createdAt),
  queued,
  failed,
  failing_since: toMomentOrNull(endpoint.failingSince),
  disabled_at: toMomentOrNull(endpoint.disabledAt),
  disabled_reason: endpoint.disabledFor ?? null,
  paused_at: toMomentOrNull(pausedAt)
})

export const queuesJson = ({ pausedAt, webhooks }: AccountQueues) => ({
  paused_at: toMomentOrNull(pausedAt),
  webhooks: webhooks.map(queueJson)
})
