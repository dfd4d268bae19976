import { Effect } from "effect"
import { Command } from "effect/cli"
import { problemsOf, type ReplicaStatus, type Status } from "../../domain/operations/Status.ts"
import { Overview } from "../../services/operations/Overview.ts"
import { writesNothing } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, print, section, table } from "../Output.ts"

const mebibytes = (bytes: number | null) => (bytes === null ? "?" : `${Math.round(bytes / 1_048_576)} MiB`)

const indexText = (index: Status["index"]): string => {
  if (index === null) return "?"
  return index.loading ? "loading: answers may lack documents and are not cached" : "loaded"
}

const summary = ({
  database,
  holds,
  index,
  migrations,
  redis,
  version
}: Status): ReadonlyArray<ReadonlyArray<string>> => {
  const { connections } = database
  const known = database.reachable
    ? [
        `${database.kind} ${database.version ?? ""}`,
        mebibytes(database.size_bytes),
        ...(connections === null ? [] : [`${connections.used} of ${connections.max} connections`])
      ].join(", ")
    : `${database.kind}, unreachable`
  return [
    ["Version", version],
    ["Database", known],
    [
      "Migrations",
      migrations === null ? "?" : `${migrations.applied.length} applied, ${migrations.pending.length} pending`
    ],
    ["Holds", holds === null ? "?" : `${holds.open} open, ${holds.overdue} overdue`],
    ["Index", indexText(index)],
    ["Redis", redis.state === "off" ? "not configured" : redis.state]
  ]
}

const seenNote = ({ silent, successor }: ReplicaStatus): string => {
  if (!silent) return ""
  return successor === null ? " (silent)" : ` (silent, succeeded by ${successor})`
}

const replicaHead = ["REPLICA", "HOST", "ADDRESS", "VERSION", "COMMIT", "STARTED", "SEEN", "CLOCK", "REDIS", "POOL"]

const replicaRow = (replica: ReplicaStatus): ReadonlyArray<string> => [
  replica.id,
  replica.host,
  replica.address ?? "-",
  replica.version,
  replica.commit ?? "-",
  replica.started_at ?? "?",
  `${replica.silent_seconds} s ago${seenNote(replica)}`,
  `${replica.skew_ms >= 0 ? "+" : ""}${replica.skew_ms} ms`,
  replica.redis ?? "?",
  replica.pool === null ? "-" : `${replica.pool.used} of ${replica.pool.max}, ${replica.pool.waiting} waiting`
]

const providerHead = ["PROVIDER", "ENGINE", "CLOSED", "HALF-OPEN", "OPEN", "P95", "LAST SUCCESS", "LAST REFUSAL"]

const providerRow = ({
  engine,
  last_refusal,
  last_success_at,
  p95_ms,
  provider,
  replicas
}: Status["providers"][number]): ReadonlyArray<string> => [
  provider,
  engine ?? "-",
  `${replicas.closed}`,
  `${replicas.half_open}`,
  `${replicas.open}`,
  p95_ms === null ? "-" : `${p95_ms} ms`,
  last_success_at ?? "never",
  last_refusal === null ? "never" : `${last_refusal.reason} at ${last_refusal.at}`
]

export const statusLines = (status: Status): ReadonlyArray<string> => [
  ...table(summary(status)),
  ...section(replicaHead, (status.replicas ?? []).map(replicaRow)),
  ...section(providerHead, status.providers.map(providerRow))
]

export const status = <E, R>({ overview }: CommandLayers<E, R>) =>
  Command.make(
    "status",
    {},
    Effect.fn(function* () {
      const status = yield* Effect.flatMap(Overview, ({ look }) => look)
      const problems = problemsOf(status)
      yield* print({ ok: problems.length === 0, problems, ...status }, statusLines(status))
      if (problems.length > 0) return yield* new CommandFailed({ message: problems.join("\n") })
    })
  ).pipe(
    Command.withDescription("Show the state of the deployment and its problems"),
    writesNothing,
    Command.provide(overview)
  )
