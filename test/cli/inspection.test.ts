import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestConsole } from "effect/testing"
import { codeOf, complain } from "../../src/cli/exit.ts"
import * as Quarry from "../../src/cli/Quarry.ts"
import { NotFound } from "../../src/domain/errors.ts"
import type { Status } from "../../src/domain/operations/Status.ts"
import type { StoredLogEntry } from "../../src/services/charging/QueryLog.ts"
import { Holds } from "../../src/services/credits/Holds.ts"
import { OperatorLog, type TopQuery } from "../../src/services/operations/OperatorLog.ts"
import { Overview } from "../../src/services/operations/Overview.ts"
import { AppConfig } from "../../src/settings/Settings.ts"
import { logEntry } from "../support/api/requests.ts"
import { replicaStatus, status } from "../support/api/status.ts"

const requestId = "0b9f6c1e-8d6f-4c7e-9b58-2f6d7a1c3e55"

const row = (rowIndex: number, fields: Partial<StoredLogEntry> = {}): StoredLogEntry => ({
  ...logEntry({ id: `qry_${rowIndex}`, accountId: "acc_1", keyId: "key_1", batchId: "bat_1", requestId, rowIndex }),
  at: Date.UTC(2026, 0, 31, 8),
  ...fields
})

const failed = row(17, {
  outcome: "upstream_timeout",
  provider: undefined,
  resultCount: 0,
  refusals: [
    { provider: "meta/google", reason: "blocked", ms: 12 },
    { provider: "brave", reason: "timeout", ms: 5003 }
  ]
})

/** Runs a command line; what it printed, the exit code, and the spans of time that were counted. */
const quarry = (line: string, found: Status = status({}), logged = failed) =>
  Effect.gen(function* () {
    const counted: Array<TopQuery> = []
    const unused = Layer.effectContext(Effect.die(new Error("no command here needs it")))
    const run = Quarry.make({
      settings: AppConfig.layerTest(),
      database: unused,
      backups: unused,
      paymentProvider: unused,
      reconciler: unused,
      crawling: unused,
      providers: unused,
      trials: unused,
      secrets: unused,
      storage: unused,
      external: unused,
      mailing: unused,
      reading: unused,
      exportAccount: () => Effect.die(new Error("no command here needs it")),
      overview: Layer.succeed(Overview, { look: Effect.succeed(found) }),
      inspection: Layer.merge(
        Layer.mock(OperatorLog, {
          query: (id) =>
            id === logged.id ? Effect.succeed(logged) : Effect.fail(new NotFound({ message: `no ${id}` })),
          batch: () => Effect.succeed([row(0), failed]),
          request: () => Effect.succeed([row(0), logged]),
          top: (query) => {
            counted.push(query)
            const outcomes = { ok: 2, upstream_error: 1, upstream_timeout: 0, page_unreadable: 0 }
            const group = query.by === "account" ? "acc_1" : undefined
            return Effect.succeed([{ group, email: "a@b.example", searches: 3, credits: 3, cached: 1, outcomes }])
          }
        }),
        Layer.mock(Holds, {
          count: Effect.succeed({ open: 2, overdue: 1 }),
          list: ({ overdueOnly }) =>
            Effect.succeed(
              [true, false]
                .filter((isOverdue) => isOverdue || !overdueOnly)
                .map((isOverdue) => ({
                  id: isOverdue ? "hld_late" : "hld_1",
                  accountId: "acc_1",
                  fromQuota: 1,
                  fromBalance: 2,
                  expiresAt: 0,
                  isOverdue
                }))
            )
        })
      )
    })
    const exit = yield* Effect.exit(Effect.tapCause(run(line.split(" ")), complain))
    const text = (all: ReadonlyArray<unknown>) => all.map(String).join("\n")
    return {
      code: codeOf(exit),
      out: text(yield* TestConsole.logLines),
      err: text(yield* TestConsole.errorLines),
      counted
    }
  }).pipe(Effect.provide([TestConsole.layer, NodeServices.layer]))

const json = (line: string, found?: Status) =>
  Effect.map(quarry(`${line} --json`, found), ({ out, ...rest }) => ({
    ...rest,
    out: JSON.parse(out.split("\n").at(-1) ?? "")
  }))

describe("quarry query, batch and request show", () => {
  it.effect("say why row 17 failed, to people", () =>
    Effect.gen(function* () {
      const { code, out } = yield* quarry("batch show --id bat_1")
      assert.strictEqual(code, 0)
      assert.match(out, /Rows +2 searches, 2 credits: 1 ok, 0 upstream_error, 1 upstream_timeout/)
      assert.match(out, /\n17 .*upstream_timeout.*meta\/google blocked after 12 ms, brave timeout after 5003 ms/)
    })
  )

  it.effect("say it to programs", () =>
    Effect.gen(function* () {
      const { out } = yield* json("batch show --id bat_1")
      assert.deepInclude(out, {
        batch_id: "bat_1",
        account_id: "acc_1",
        request_id: requestId,
        searches: 2,
        credits: 2
      })
      assert.deepInclude(out.rows[1], { row: 17, outcome: "upstream_timeout", refusals: failed.refusals })
    })
  )

  it.effect("show one search with all that was logged", () =>
    Effect.gen(function* () {
      const { out } = yield* json("query show --id qry_17")
      assert.deepInclude(out, { id: "qry_17", at: "2026-01-31T08:00:00.000Z", row: 17, provider: null, credits: 1 })
      const { out: text } = yield* quarry("query show --id qry_17")
      assert.match(text, /Batch +bat_1, row 17/)
    })
  )

  it.effect("find the searches of a request, whose id is a UUID", () =>
    Effect.gen(function* () {
      const { out } = yield* json(`request show --id ${requestId.toUpperCase()}`)
      assert.deepInclude(out, { request_id: requestId, account_ids: ["acc_1"], batch_ids: ["bat_1"], complete: true })
      assert.strictEqual(out.entries.length, 2)
      assert.strictEqual((yield* quarry("request show --id bat_1")).code, 2)
    })
  )

  it.effect("fail in one line for what the log does not have", () =>
    Effect.gen(function* () {
      const { code, err } = yield* quarry("query show --id qry_none")
      assert.deepStrictEqual([code, err], [1, "quarry: no qry_none"])
    })
  )
})

describe("quarry query and request show, of a search whose texts a terminal would obey", () => {
  const hostile = "\u001b[2J\u009b1m\u202e\nquery"
  const escaped = "\\u{1b}[2J\\u{9b}1m\\u{202e}\\u{a}query"

  it.effect.each(["query show --id qry_3", `request show --id ${requestId}`])("%s prints escapes", (line) =>
    Effect.gen(function* () {
      const { out } = yield* quarry(line, undefined, row(3, { request: { ...failed.request, query: hostile } }))
      assert.include(out, escaped)
      assert.notMatch(out, /[^\P{Cc}\n]|\p{Bidi_Control}/u)
    })
  )
})

describe("quarry holds list", () => {
  it.effect("lists the holds with what they took, or the overdue ones alone", () =>
    Effect.gen(function* () {
      const { out } = yield* json("holds list")
      assert.deepInclude(out, { open: 2, overdue: 1 })
      assert.deepStrictEqual(out.holds[0], {
        id: "hld_late",
        account_id: "acc_1",
        from_quota: 1,
        from_balance: 2,
        expires_at: "1970-01-01T00:00:00.000Z",
        overdue: true
      })
      assert.strictEqual((yield* json("holds list --overdue")).out.holds.length, 1)
      assert.match((yield* quarry("holds list")).out, /2 open, 1 overdue/)
      assert.strictEqual((yield* quarry("holds list --limit 1001")).code, 2)
    })
  )
})

describe("quarry usage top", () => {
  it.effect("counts the last day by account, unless it is asked for something else", () =>
    Effect.gen(function* () {
      const { counted, out } = yield* json("usage top")
      assert.deepStrictEqual(counted, [{ by: "account", from: -86_400_000, to: 0, limit: 20 }])
      assert.deepInclude(out.top[0], { account: "acc_1", email: "a@b.example", searches: 3 })
      const other = yield* json("usage top --by provider --from 2026-01-01 --to 2026-02-01 --limit 3")
      assert.deepStrictEqual(other.counted, [
        { by: "provider", from: Date.UTC(2026, 0, 1), to: Date.UTC(2026, 1, 1), limit: 3 }
      ])
      assert.deepStrictEqual(other.out.top[0].provider, null)
    })
  )

  it.effect("refuses a span of time that ends before it begins", () =>
    Effect.gen(function* () {
      const { code, err } = yield* quarry("usage top --from 2026-02-01 --to 2026-01-01")
      assert.strictEqual(code, 2)
      assert.include(err, "--from must be before --to")
    })
  )

  it.effect("refuses a span of time that has not begun", () =>
    Effect.gen(function* () {
      const { code, err } = yield* quarry("usage top --from 9999-01-01")
      assert.deepStrictEqual([code, err], [1, "quarry: --from is in the future. Choose an earlier time."])
    })
  )
})

describe("quarry status", () => {
  it.effect("shows the deployment, and exits with 0 where nothing is wrong", () =>
    Effect.gen(function* () {
      const { code, err, out } = yield* quarry("status")
      assert.deepStrictEqual([code, err], [0, ""])
      for (const text of ["postgres 15.14, 10 MiB, 12 of 100 connections", "1 applied, 0 pending", "rep_1", "meta"]) {
        assert.include(out, text)
      }
    })
  )

  it.effect("tells whether the index is loading, which is not a problem", () =>
    Effect.gen(function* () {
      for (const [index, text] of [
        [{ loading: true }, /^Index +loading: answers may lack documents and are not cached$/m],
        [{ loading: false }, /^Index +loaded$/m],
        [null, /^Index +\?$/m]
      ] as const) {
        const { code, out } = yield* quarry("status", status({ index }))
        assert.strictEqual(code, 0)
        assert.match(out, text)
      }
    })
  )

  it.effect("names what is wrong on stderr, and in its object, and exits with 1", () =>
    Effect.gen(function* () {
      const found = status({
        replicas: [replicaStatus({}), replicaStatus({ id: "rep_2", silent: true, silent_seconds: 90 })]
      })
      const { code, err, out } = yield* json("status", found)
      assert.strictEqual(code, 1)
      assert.strictEqual(
        err,
        "quarry: Replica rep_2 at a.example:3000 has been silent for 90 s, and no replica has started since. If it will not come back, run `replica forget rep_2`."
      )
      assert.deepStrictEqual([out.ok, out.problems.length, out.replicas.length], [false, 1, 2])
    })
  )
})
