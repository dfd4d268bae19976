import { Schema } from "effect"
import { phases } from "../providers/CoolDown.ts"
import { refusalReasons } from "../providers/Refusal.ts"

/* The JSON of `quarry status` and of the private listener's `/status`. Times are ISO 8601. Null: unknown. */

const Text = Schema.NullOr(Schema.String)

export const DatabaseStatus = Schema.Struct({
  kind: Schema.Literals(["embedded", "postgres"]),
  reachable: Schema.Boolean,
  /** The reason if it is unreachable. */
  reason: Text,
  version: Text,
  /** False for a standby or a read-only server. */
  takes_writes: Schema.NullOr(Schema.Boolean),
  /** False if `fsync` or `synchronous_commit` is off: a crash of the server can then lose charges. */
  durable: Schema.NullOr(Schema.Boolean),
  size_bytes: Schema.NullOr(Schema.Int),
  connections: Schema.NullOr(Schema.Struct({ used: Schema.Int, max: Schema.Int })),
  /** The clock of the process that reads the status, minus the database's. */
  skew_ms: Schema.NullOr(Schema.Int)
})
export type DatabaseStatus = typeof DatabaseStatus.Type

export const MigrationStatus = Schema.Struct({
  applied: Schema.Array(Schema.String),
  /** Migrations that this version has and the database lacks. */
  pending: Schema.Array(Schema.String),
  /** Migrations of a newer version. */
  unknown: Schema.Array(Schema.String)
})
export type MigrationStatus = typeof MigrationStatus.Type

export const HoldsStatus = Schema.Struct({ open: Schema.Int, overdue: Schema.Int })
export type HoldsStatus = typeof HoldsStatus.Type

export const RedisStatus = Schema.Struct({
  /** `off`: no Redis is configured. */
  state: Schema.Literals(["off", "answers", "away"]),
  reason: Text
})
export type RedisStatus = typeof RedisStatus.Type

export const ReplicaStatus = Schema.Struct({
  id: Schema.String,
  host: Schema.String,
  /** Host and port of the public listener; null before it listens. */
  address: Text,
  version: Schema.String,
  /** From `QUARRY_COMMIT`. */
  commit: Text,
  started_at: Text,
  silent_seconds: Schema.Int,
  /** Heartbeats are missing: the process crashed, hangs, or cannot reach the database. */
  silent: Schema.Boolean,
  /** The replica that replaced a silent one. */
  successor: Text,
  skew_ms: Schema.Int,
  redis: Schema.NullOr(Schema.Literals(["off", "answers", "away"])),
  pool: Schema.NullOr(Schema.Struct({ max: Schema.Int, used: Schema.Int, waiting: Schema.Int })),
  /** Digest of its plans; null if its version does not report it. */
  plans: Text
})
export type ReplicaStatus = typeof ReplicaStatus.Type

/** One provider, over all replicas that report. */
export const ProviderStatus = Schema.Struct({
  provider: Schema.String,
  engine: Text,
  /** Number of replicas by circuit breaker state. */
  replicas: Schema.Record(Schema.Literals(phases), Schema.Int),
  last_success_at: Text,
  last_refusal: Schema.NullOr(Schema.Struct({ at: Text, reason: Schema.Literals(refusalReasons) })),
  /** Maximum over the replicas. */
  p95_ms: Schema.NullOr(Schema.Int)
})
export type ProviderStatus = typeof ProviderStatus.Type

export const Status = Schema.Struct({
  /** Of the process that reads the status. */
  version: Schema.String,
  database: DatabaseStatus,
  migrations: Schema.NullOr(MigrationStatus),
  holds: Schema.NullOr(HoldsStatus),
  redis: RedisStatus,
  /** Of the built-in index. While documents are loaded, answers may lack some and are not cached. */
  index: Schema.NullOr(Schema.Struct({ loading: Schema.Boolean })),
  replicas: Schema.NullOr(Schema.Array(ReplicaStatus)),
  providers: Schema.Array(ProviderStatus)
})
export type Status = typeof Status.Type

/** Four missing heartbeats. `replicas_gone` has the same limit. */
export const silentAfterMs = 20_000

/** Cycles and leases use the database's clock, so a replica beyond this skew is reported. */
export const maxSkewMs = 5_000

/** Above this share of the server's connections, the next replica may get none. */
const maxConnectionShare = 0.9

export interface Problem {
  /** One line for the operator. */
  readonly text: string
  /** The page of the documentation that says what to do. */
  readonly runbook: string | null
}

/** `alert` names the runbook's entry. */
const problem = (text: string, alert?: string): Problem => ({
  text,
  runbook: alert === undefined ? null : `otel/RUNBOOK.md#${alert.toLowerCase()}`
})

const databaseProblems = ({ connections, durable, reachable, reason, skew_ms, takes_writes }: DatabaseStatus) => {
  if (!reachable)
    return [problem(`The database cannot be reached: ${reason ?? "no reason given"}.`, "QuarryDatabaseAway")]
  const problems = []
  if (takes_writes === false) {
    const text = "The database takes no writes: it is a standby, or set to read only."
    problems.push(problem(text, "QuarryDatabaseRefusesWrites"))
  }
  if (durable === false)
    problems.push(problem("The database may lose charges in a crash: set fsync and synchronous_commit to on."))
  if (connections !== null && connections.used > connections.max * maxConnectionShare) {
    const text = `${connections.used} of the database's ${connections.max} connections are in use.`
    problems.push(problem(text, "QuarryPoolExhausted"))
  }
  if (skew_ms !== null && Math.abs(skew_ms) > maxSkewMs) {
    const text = `The clock of this machine differs from the database's by ${skew_ms / 1000} s.`
    problems.push(problem(text, "QuarryClockSkew"))
  }
  return problems
}

/** For a database with a migration that no release had. */
export const unreleasedSchema = (migration: string): string =>
  `The database was created by a development version before 0.1.0 (migration ${migration}) and cannot be upgraded: ` +
  "set DATABASE_URL or DATA_DIR to an empty one."

const migrationProblems = (migrations: MigrationStatus | null) => {
  if (migrations === null) return []
  const [unknown] = migrations.unknown
  if (unknown !== undefined && migrations.pending.length > 0) return [problem(unreleasedSchema(unknown))]
  const problems = []
  if (migrations.pending.length > 0) {
    problems.push(
      problem(
        `Migrations are pending (${migrations.pending.join(", ")}): run \`migrate\`, or start a replica of this version.`
      )
    )
  }
  if (migrations.unknown.length > 0) {
    problems.push(problem(`A newer version has migrated the database (${migrations.unknown.join(", ")}).`))
  }
  return problems
}

/** Unix milliseconds on the store's clock. */
export interface Lifetime {
  readonly id: string
  readonly startedAt: number
  readonly seenAt: number
  readonly silent: boolean
}

/**
 * The successor of each silent replica: a replica that started after its last heartbeat. Each replica can succeed only
 * one other, so if two crashed and one started since, one is still missing. A successor may have crashed too, and then
 * needs its own successor.
 */
export const successorsOf = (replicas: ReadonlyArray<Lifetime>): ReadonlyMap<string, string> => {
  const successors = new Map<string, string>()
  const started = replicas.toSorted((a, b) => a.startedAt - b.startedAt)
  let next = 0
  for (const { id, seenAt } of replicas.filter(({ silent }) => silent).sort((a, b) => a.seenAt - b.seenAt)) {
    while ((started[next]?.startedAt ?? Number.POSITIVE_INFINITY) <= seenAt) next++
    const successor = started[next++]
    if (successor === undefined) break
    successors.set(id, successor.id)
  }
  return successors
}

const replicaProblems = (replicas: ReadonlyArray<ReplicaStatus> | null) => {
  if (replicas === null) return []
  const problems = []
  if (!replicas.some(({ silent }) => !silent)) problems.push(problem("No replica is running.", "QuarryDown"))
  for (const { address, host, id, redis, silent, silent_seconds, skew_ms, successor } of replicas) {
    const name = `Replica ${id} at ${address ?? host}`
    if (silent) {
      if (successor !== null) continue
      const text =
        `${name} has been silent for ${silent_seconds} s, and no replica has started since. If it will not come back, ` +
        `run \`replica forget ${id}\`.`
      problems.push(problem(text, "QuarryReplicaGone"))
      continue
    }
    if (Math.abs(skew_ms) > maxSkewMs)
      problems.push(
        problem(`The clock of ${name} differs from the database's by ${skew_ms / 1000} s.`, "QuarryClockSkew")
      )
    if (redis === "away") {
      problems.push(problem(`${name} works without Redis, which does not respond.`, "QuarryLimiterLocal"))
    }
  }
  return problems
}

/** Replicas with different files would sell the same plan on different terms. */
const planProblems = (replicas: ReadonlyArray<ReplicaStatus> | null) => {
  const byPlans = new Map<string, Array<string>>()
  for (const { address, host, id, plans, silent } of replicas ?? []) {
    if (silent || plans === null) continue
    byPlans.set(plans, [...(byPlans.get(plans) ?? []), `${id} at ${address ?? host}`])
  }
  if (byPlans.size < 2) return []
  const groups = [...byPlans].map(([plans, names]) => `${plans}: ${names.join(", ")}`)
  return [problem(`Replicas have different plans: give each the same QUARRY_PLANS (${groups.join("; ")}).`)]
}

const providerProblems = (providers: ReadonlyArray<ProviderStatus>) =>
  providers
    .filter(({ replicas }) => replicas.open > 0 && replicas.closed === 0 && replicas.half_open === 0)
    .map(({ engine, last_refusal, provider }) => {
      const name = engine === null ? provider : `${provider}/${engine}`
      const text = `Every replica skips provider ${name}: ${last_refusal?.reason ?? "no reason given"}.`
      return problem(text, "QuarryProviderDown")
    })

export const problemsIn = (status: Status): ReadonlyArray<Problem> => [
  ...databaseProblems(status.database),
  ...migrationProblems(status.migrations),
  ...(status.holds !== null && status.holds.overdue > 0
    ? [
        problem(
          `${status.holds.overdue} holds are overdue: their credits are not returned, because no replica sweeps.`,
          "QuarryHoldsOverdue"
        )
      ]
    : []),
  ...(status.redis.state === "away"
    ? [problem(`Redis cannot be reached: ${status.redis.reason ?? "no reason given"}.`, "QuarryLimiterLocal")]
    : []),
  ...replicaProblems(status.replicas),
  ...planProblems(status.replicas),
  ...providerProblems(status.providers)
]

/** One line per problem, for the operator. */
export const problemsOf = (status: Status): ReadonlyArray<string> => problemsIn(status).map(({ text }) => text)
