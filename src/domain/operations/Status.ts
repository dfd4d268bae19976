import { Schema } from "effect"
import { phases } from "../providers/CoolDown.ts"
import { refusalReasons } from "../providers/Refusal.ts"

/*
 * The state of a deployment as one look finds it. The schemas are the JSON of `quarry status` and of the private
 * listener's `/status`. Times are ISO 8601. Null is what could not be found out.
 */

const Text = Schema.NullOr(Schema.String)

export const DatabaseStatus = Schema.Struct({
  kind: Schema.Literals(["embedded", "postgres"]),
  reachable: Schema.Boolean,
  /** The reason for which it cannot be reached. */
  reason: Text,
  version: Text,
  /** False for a standby and for a server that is set to read only. */
  takes_writes: Schema.NullOr(Schema.Boolean),
  /** False with `fsync` or `synchronous_commit` off: a crash of the server can lose charges then. */
  durable: Schema.NullOr(Schema.Boolean),
  size_bytes: Schema.NullOr(Schema.Int),
  connections: Schema.NullOr(Schema.Struct({ used: Schema.Int, max: Schema.Int })),
  /** The clock of the process that looks, less the database's. */
  skew_ms: Schema.NullOr(Schema.Int)
})
export type DatabaseStatus = typeof DatabaseStatus.Type

export const MigrationStatus = Schema.Struct({
  applied: Schema.Array(Schema.String),
  /** Migrations of this version that the database does not have. */
  pending: Schema.Array(Schema.String),
  /** Migrations that a newer version made. */
  unknown: Schema.Array(Schema.String)
})
export type MigrationStatus = typeof MigrationStatus.Type

export const HoldsStatus = Schema.Struct({ open: Schema.Int, overdue: Schema.Int })
export type HoldsStatus = typeof HoldsStatus.Type

export const RedisStatus = Schema.Struct({
  /** `off` where no Redis is configured. */
  state: Schema.Literals(["off", "answers", "away"]),
  reason: Text
})
export type RedisStatus = typeof RedisStatus.Type

export const ReplicaStatus = Schema.Struct({
  id: Schema.String,
  host: Schema.String,
  /** Host and port at which it takes requests; null before it listens. */
  address: Text,
  version: Schema.String,
  /** The commit that runs, as `QUARRY_COMMIT` names it. */
  commit: Text,
  started_at: Text,
  silent_seconds: Schema.Int,
  /** True where heartbeats are missing: the process crashed, hangs, or cannot reach the database. */
  silent: Schema.Boolean,
  /** The replica that started in the place of a silent one. */
  successor: Text,
  skew_ms: Schema.Int,
  redis: Schema.NullOr(Schema.Literals(["off", "answers", "away"])),
  pool: Schema.NullOr(Schema.Struct({ max: Schema.Int, used: Schema.Int, waiting: Schema.Int })),
  /** A digest of the plans that it was started with; null where its version does not report it. */
  plans: Text
})
export type ReplicaStatus = typeof ReplicaStatus.Type

/** A provider over all replicas that report. */
export const ProviderStatus = Schema.Struct({
  provider: Schema.String,
  engine: Text,
  /** Replicas by the phase of their cool-down for it. */
  replicas: Schema.Record(Schema.Literals(phases), Schema.Int),
  last_success_at: Text,
  last_refusal: Schema.NullOr(Schema.Struct({ at: Text, reason: Schema.Literals(refusalReasons) })),
  /** The largest of the replicas' 95th percentiles. */
  p95_ms: Schema.NullOr(Schema.Int)
})
export type ProviderStatus = typeof ProviderStatus.Type

export const Status = Schema.Struct({
  /** The version of the process that looks. */
  version: Schema.String,
  database: DatabaseStatus,
  migrations: Schema.NullOr(MigrationStatus),
  holds: Schema.NullOr(HoldsStatus),
  redis: RedisStatus,
  replicas: Schema.NullOr(Schema.Array(ReplicaStatus)),
  providers: Schema.Array(ProviderStatus)
})
export type Status = typeof Status.Type

/** Four heartbeats of a replica that did not arrive. `replicas_gone` has the same figure. */
export const silentAfterMs = 20_000

/** Above this skew a clock is wrong: cycles and leases go by the database's. */
export const maxSkewMs = 5_000

/** The share of the server's connections above which the next replica may find none. */
const maxConnectionShare = 0.9

const databaseProblems = ({ connections, durable, reachable, reason, skew_ms, takes_writes }: DatabaseStatus) => {
  if (!reachable) return [`The database cannot be reached: ${reason ?? "no reason given"}.`]
  const problems = []
  if (takes_writes === false) problems.push("The database takes no writes: it is a standby, or set to read only.")
  if (durable === false)
    problems.push("The database may lose charges in a crash: set fsync and synchronous_commit to on.")
  if (connections !== null && connections.used > connections.max * maxConnectionShare) {
    problems.push(`${connections.used} of the database's ${connections.max} connections are in use.`)
  }
  if (skew_ms !== null && Math.abs(skew_ms) > maxSkewMs) {
    problems.push(`The clock of this machine is ${skew_ms / 1000} s from the database's.`)
  }
  return problems
}

/** The problem of a database whose migrations are not those of 0.1.0 and later: it has one that no release had. */
export const unreleasedSchema = (migration: string): string =>
  `The database was made by a development version before 0.1.0 (it has migration ${migration}), which cannot be ` +
  "upgraded: use an empty one by another DATABASE_URL or DATA_DIR."

const migrationProblems = (migrations: MigrationStatus | null) => {
  if (migrations === null) return []
  const [unknown] = migrations.unknown
  if (unknown !== undefined && migrations.pending.length > 0) return [unreleasedSchema(unknown)]
  const problems = []
  if (migrations.pending.length > 0) {
    problems.push(
      `Migrations are pending (${migrations.pending.join(", ")}): run \`migrate\`, or start a replica of this version.`
    )
  }
  if (migrations.unknown.length > 0) {
    problems.push(`A newer version has migrated the database (${migrations.unknown.join(", ")}).`)
  }
  return problems
}

/** The life of a replica, in Unix milliseconds on the store's clock. */
export interface Lifetime {
  readonly id: string
  readonly startedAt: number
  readonly seenAt: number
  readonly silent: boolean
}

/**
 * The successor of each silent replica that has one: a replica that started after the last heartbeat of the silent one. A
 * replica takes one place only, so that of two that crashed and one that started since, one is missing. A successor may
 * have crashed too, and have a successor of its own.
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
  if (!replicas.some(({ silent }) => !silent)) problems.push("No replica is running.")
  for (const { address, host, id, redis, silent, silent_seconds, skew_ms, successor } of replicas) {
    const name = `Replica ${id} at ${address ?? host}`
    if (silent) {
      if (successor !== null) continue
      problems.push(
        `${name} has been silent for ${silent_seconds} s, and no replica has started since. If it is not to come back, ` +
          `run \`replica forget ${id}\`.`
      )
      continue
    }
    if (Math.abs(skew_ms) > maxSkewMs) problems.push(`${name} has a clock ${skew_ms / 1000} s from the database's.`)
    if (redis === "away") problems.push(`${name} does without Redis, because it does not answer.`)
  }
  return problems
}

/** Replicas whose files differ sell the same plan on different terms. */
const planProblems = (replicas: ReadonlyArray<ReplicaStatus> | null) => {
  const byPlans = new Map<string, Array<string>>()
  for (const { address, host, id, plans, silent } of replicas ?? []) {
    if (silent || plans === null) continue
    byPlans.set(plans, [...(byPlans.get(plans) ?? []), `${id} at ${address ?? host}`])
  }
  if (byPlans.size < 2) return []
  const groups = [...byPlans].map(([plans, names]) => `${plans}: ${names.join(", ")}`)
  return [`Replicas have different plans: give each the same QUARRY_PLANS (${groups.join("; ")}).`]
}

const providerProblems = (providers: ReadonlyArray<ProviderStatus>) =>
  providers
    .filter(({ replicas }) => replicas.open > 0 && replicas.closed === 0 && replicas.half_open === 0)
    .map(({ engine, last_refusal, provider }) => {
      const name = engine === null ? provider : `${provider}/${engine}`
      return `Provider ${name} is left out by every replica: ${last_refusal?.reason ?? "no reason given"}.`
    })

/** A line for each thing that the operator should look into; empty where all is well. */
export const problemsOf = (status: Status): ReadonlyArray<string> => [
  ...databaseProblems(status.database),
  ...migrationProblems(status.migrations),
  ...(status.holds !== null && status.holds.overdue > 0
    ? [`${status.holds.overdue} holds are overdue: their credits are not returned, because no replica sweeps.`]
    : []),
  ...(status.redis.state === "away" ? [`Redis cannot be reached: ${status.redis.reason ?? "no reason given"}.`] : []),
  ...replicaProblems(status.replicas),
  ...planProblems(status.replicas),
  ...providerProblems(status.providers)
]
