import type { ProviderStatus, ReplicaStatus, Status } from "../../../src/domain/operations/Status.ts"

/** A healthy replica. Tests override only the relevant fields. */
export const replicaStatus = (fields: Partial<ReplicaStatus>): ReplicaStatus => ({
  id: "rep_1",
  host: "a.example",
  address: "a.example:3000",
  version: "0.1.0",
  commit: "1a2b3c4",
  started_at: "2026-01-01T00:00:00.000Z",
  silent_seconds: 3,
  silent: false,
  successor: null,
  skew_ms: 12,
  redis: "answers",
  pool: { max: 10, used: 1, waiting: 0 },
  plans: "0123456789ab",
  ...fields
})

/** A provider that every replica uses. */
export const providerStatus = (fields: Partial<ProviderStatus>): ProviderStatus => ({
  provider: "meta",
  engine: "google",
  replicas: { closed: 2, open: 0, half_open: 0 },
  last_success_at: "2026-01-01T00:00:00.000Z",
  last_refusal: { at: "2025-12-31T00:00:00.000Z", reason: "blocked" },
  p95_ms: 321,
  ...fields
})

/** A healthy deployment. */
export const status = (fields: Partial<Status>): Status => ({
  version: "0.1.0",
  database: {
    kind: "postgres",
    reachable: true,
    reason: null,
    version: "15.14",
    takes_writes: true,
    durable: true,
    size_bytes: 10_485_760,
    connections: { used: 12, max: 100 },
    skew_ms: 4
  },
  migrations: { applied: ["0001_initial"], pending: [], unknown: [] },
  holds: { open: 1, overdue: 0 },
  redis: { state: "answers", reason: null },
  index: { loading: false },
  replicas: [replicaStatus({})],
  providers: [providerStatus({})],
  ...fields
})
