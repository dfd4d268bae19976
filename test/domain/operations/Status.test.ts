import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  type Lifetime,
  type ProviderStatus,
  problemsIn,
  problemsOf,
  type ReplicaStatus,
  type Status,
  successorsOf
} from "../../../src/domain/operations/Status.ts"
import { providerStatus, replicaStatus, status } from "../../support/api/status.ts"

const withReplica = (fields: Partial<ReplicaStatus>): Status => status({ replicas: [replicaStatus(fields)] })
const withProvider = (fields: Partial<ProviderStatus>): Status => status({ providers: [providerStatus(fields)] })
const withDatabase = (fields: Partial<Status["database"]>): Status =>
  status({ database: { ...status({}).database, ...fields } })

describe("the problems of a deployment", () => {
  it("lead to an entry of the runbook that is there", () => {
    const runbook = readFileSync(new URL("../../../otel/RUNBOOK.md", import.meta.url), "utf8")
    const anchors = new Set(Array.from(runbook.matchAll(/^## (\S+)$/gm), ([, name = ""]) => name.toLowerCase()))
    const found = [
      ...problemsIn(withDatabase({ takes_writes: false, connections: { used: 95, max: 100 }, skew_ms: -7_000 })),
      ...problemsIn(withDatabase({ reachable: false })),
      ...problemsIn(withReplica({ silent: true, skew_ms: 9_000 })),
      ...problemsIn(withReplica({ skew_ms: 9_000, redis: "away" })),
      ...problemsIn(withProvider({ replicas: { closed: 0, open: 2, half_open: 0 } })),
      ...problemsIn(status({ holds: { open: 3, overdue: 2 }, redis: { state: "away", reason: null } }))
    ].flatMap(({ runbook }) => (runbook === null ? [] : [runbook]))
    assert.isAtLeast(new Set(found).size, 8)
    for (const path of found) {
      const [file, anchor = ""] = path.split("#")
      assert.strictEqual(file, "otel/RUNBOOK.md")
      assert.include(anchors, anchor)
    }
  })

  it("are none where all is well", () => {
    assert.deepStrictEqual(problemsOf(status({})), [])
  })

  it.each<[string, Status, RegExp]>([
    ["an unreachable database", withDatabase({ reachable: false, reason: "refused" }), /cannot be reached: refused/],
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
    [
      "the schema of a version before 0.1.0",
      status({ migrations: { applied: ["0001_x"], pending: ["0001_y"], unknown: ["0001_x"] } }),
      /0001_x.*cannot be upgraded/
    ],
    ["overdue holds", status({ holds: { open: 3, overdue: 2 } }), /2 holds are overdue/],
    ["an unreachable Redis", status({ redis: { state: "away", reason: "timeout" } }), /Redis.*timeout/],
    ["no replica at all", status({ replicas: [] }), /No replica is running/],
    [
      "a silent replica that none has started since",
      withReplica({ silent: true, silent_seconds: 77 }),
      /silent for 77 s.*`replica forget rep_1`/
    ],
    ["a replica with a wrong clock", withReplica({ skew_ms: 864_000_000 }), /864000 s/],
    ["a replica without Redis", withReplica({ redis: "away" }), /works without Redis/],
    [
      "a provider that no replica asks",
      withProvider({ replicas: { closed: 0, open: 2, half_open: 0 } }),
      /meta\/google/
    ]
  ])("name %s", (_, found, expected) => {
    assert.match(problemsOf(found).join("\n"), expected)
  })

  it("R75: name the replicas that have other plans, but none that is silent or does not say", () => {
    const one = replicaStatus({})
    const other = replicaStatus({ id: "rep_2", plans: "ba9876543210" })
    const quiet = [replicaStatus({ plans: null }), replicaStatus({ ...other, silent: true, successor: "rep_1" })]
    assert.deepStrictEqual(problemsOf(status({ replicas: [one, ...quiet] })), [])
    const [problem = ""] = problemsOf(status({ replicas: [one, other] }))
    assert.match(problem, /different plans.*QUARRY_PLANS.*0123456789ab: rep_1.*ba9876543210: rep_2/)
  })

  it("do not name a silent replica that has a successor", () => {
    const replicas = [replicaStatus({ id: "rep_2" }), replicaStatus({ silent: true, successor: "rep_2" })]
    assert.deepStrictEqual(problemsOf(status({ replicas })), [])
  })

  it("do not name a provider that one replica still asks, nor the clock of a replica that is silent", () => {
    assert.deepStrictEqual(problemsOf(withProvider({ replicas: { closed: 1, open: 2, half_open: 0 } })), [])
    const silent = problemsOf(
      status({ replicas: [replicaStatus({}), replicaStatus({ silent: true, skew_ms: 9_000, redis: "away" })] })
    )
    assert.strictEqual(silent.length, 1)
  })
})

describe("the successors of silent replicas", () => {
  const lifetime = (id: string, startedAt: number, seenAt: number, silent = false): Lifetime => ({
    id,
    startedAt,
    seenAt,
    silent
  })
  const now = 1_000

  it("are replicas that started since, one for each", () => {
    const crashed = [lifetime("rep_a", 0, 100, true), lifetime("rep_b", 0, 101, true)]
    assert.deepStrictEqual([...successorsOf([...crashed, lifetime("rep_old", 50, now)])], [])
    assert.deepStrictEqual([...successorsOf([...crashed, lifetime("rep_c", 110, now)])], [["rep_a", "rep_c"]])
    assert.deepStrictEqual(
      [...successorsOf([...crashed, lifetime("rep_d", 120, now), lifetime("rep_c", 110, now)])],
      [
        ["rep_a", "rep_c"],
        ["rep_b", "rep_d"]
      ]
    )
  })

  it("of replicas that crash at each start are each other, up to the running one", () => {
    const replicas = [lifetime("rep_a", 0, 10, true), lifetime("rep_b", 20, 30, true), lifetime("rep_c", 40, now)]
    assert.deepStrictEqual(
      [...successorsOf(replicas)],
      [
        ["rep_a", "rep_b"],
        ["rep_b", "rep_c"]
      ]
    )
  })

  const lifetimes = fc
    .array(fc.tuple(fc.nat(20), fc.nat(20), fc.boolean()), { maxLength: 8 })
    .map((all) => all.map(([start, length, silent], index) => lifetime(`rep_${index}`, start, start + length, silent)))

  it("started after the last report, and succeed one replica each", () => {
    fc.assert(
      fc.property(lifetimes, (all) => {
        const byId = new Map(all.map((it) => [it.id, it]))
        const successors = successorsOf(all)
        for (const [id, successor] of successors) {
          assert.isTrue(byId.get(id)?.silent)
          assert.isAbove(byId.get(successor)?.startedAt ?? -1, byId.get(id)?.seenAt ?? Number.POSITIVE_INFINITY)
        }
        assert.strictEqual(new Set(successors.values()).size, successors.size)
      })
    )
  })

  it("leave no replica without a place and no silent one without a successor that could take it", () => {
    fc.assert(
      fc.property(lifetimes, (all) => {
        const successors = successorsOf(all)
        const taken = new Set(successors.values())
        for (const silent of all.filter((it) => it.silent && !successors.has(it.id))) {
          assert.isFalse(all.some(({ id, startedAt }) => startedAt > silent.seenAt && !taken.has(id)))
        }
      })
    )
  })
})
