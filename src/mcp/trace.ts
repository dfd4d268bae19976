import { Effect, Metric } from "effect"
import { mcpMessages } from "../services/telemetry/Metrics.ts"
import { withSpan } from "../services/telemetry/Tracing.ts"
import { revisions } from "./revisions.ts"

export interface MessageFacts {
  readonly method: string
  /** Undefined if the message names none, as usual in early revisions. */
  readonly revision: string | undefined
  readonly client?: string | undefined
}

const methods: ReadonlySet<string> = new Set([
  "initialize",
  "notifications/initialized",
  "ping",
  "server/discover",
  "tools/call",
  "tools/list"
])

const maxClientCharacters = 64

/** Values made up by callers share one label, to limit the number of series. */
export const traced = <A, E, R>(
  { client, method, revision = "none" }: MessageFacts,
  answer: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const attributes = {
    "mcp.method.name": methods.has(method) ? method : "other",
    "mcp.protocol.version": revision === "none" || revisions.includes(revision) ? revision : "other",
    ...(client === undefined ? {} : { "quarry.mcp.client": client.slice(0, maxClientCharacters) })
  }
  const count = Metric.update(mcpMessages.of(attributes["mcp.method.name"], attributes["mcp.protocol.version"]), 1)
  return withSpan("Mcp.message", { attributes }, () => Effect.andThen(count, answer))
}
