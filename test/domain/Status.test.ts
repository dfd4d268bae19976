import { assert, describe, it } from "@effect/vitest"
import { type ProviderStatus, problemsOf, type ReplicaStatus, type Status } from "../../src/domain/Status.ts"
import { providerStatus, replicaStatus, status } from "../support/status.ts"

const withReplica = (fields: Partial<ReplicaStatus>): Status => status({ replicas: [replicaStatus(fields)] })
const withProvider = (fields: Partial<ProviderStatus>): Status => status({ providers: [providerStatus(fields)] })
const withDatabase = (fields: Partial<Status["database"]>): Status =>
  status({ database: { ...status({}).database, ...fields } })

describe("the problems of a deployment", () => {
  it("are none where all is well", () => {
    assert.deepStrictEqual(problemsOf(status({})), [])
  })

  it.each<[string, Status, RegExp]>([
    ["a database that is away", withDatabase({ reachable: false, reason: "refused" }), /cannot be reached: refused/],
    ["a standby", withDatabase({ takes_writes: false }), /takes no writes/],
    ["a database that may forget", withDatabase({ durable: false }), /fsync/],
    ["a server out of connections", withDatabase({ connections: { used: 95, max: 100 } }), /95 of the database's 100/],
    ["a clock of this machine", withDatabase({ skew_ms: -7_000 }), /-7 s/],
    [
      "pending migrations",
      status({ migrations: { applied: [], pending: ["0007_x"], unknown: [] } }),
      /0007_x.*migrate/
    ],
    ["a newer schema", status({ migrations: { applied: [], pending: [], unknown: ["0099_y"] } }), /newer.*0099_y/],
    ["overdue holds", status({ holds: { open: 3, overdue: 2 } }), /2 holds are overdue/],
    ["a Redis that is away", status({ redis: { state: "away", reason: "timeout" } }), /Redis.*timeout/],
    ["no replica at all", status({ replicas: [] }), /No replica is running/],
    ["a silent replica", withReplica({ silent: true, silent_seconds: 77 }), /silent for 77 s/],
    ["a replica with a wrong clock", withReplica({ skew_ms: 864_000_000 }), /864000 s/],
    ["a replica without Redis", withReplica({ redis: "away" }), /does without Redis/],
    [
      "a provider that no replica asks",
      withProvider({ replicas: { closed: 0, open: 2, half_open: 0 } }),
      /meta\/google/
    ]
  ])("name %s", (_, found, expected) => {
    assert.match(problemsOf(found).join("\n"), expected)
  })

  it("do not name a provider that one replica still asks, nor the clock of a replica that is silent", () => {
    assert.deepStrictEqual(problemsOf(withProvider({ replicas: { closed: 1, open: 2, half_open: 0 } })), [])
    const silent = problemsOf(
      status({ replicas: [replicaStatus({}), replicaStatus({ silent: true, skew_ms: 9_000, redis: "away" })] })
    )
    assert.strictEqual(silent.length, 1)
  })
})
