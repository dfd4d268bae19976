import { resolve } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, Layer, Redacted, Sink, Stdio, Stream } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { TestConsole } from "effect/testing"
import { codeOf, complain } from "../../src/cli/exit.ts"
import * as Quarry from "../../src/cli/Quarry.ts"
import type { Account } from "../../src/domain/Account.ts"
import type { Capabilities } from "../../src/domain/Capabilities.ts"
import { NotFound } from "../../src/domain/errors.ts"
import { Refusal } from "../../src/domain/Refusal.ts"
import { AccountRemoval } from "../../src/services/AccountRemoval.ts"
import { AccountError, Accounts } from "../../src/services/Accounts.ts"
import { DocumentIndex } from "../../src/services/DocumentIndex.ts"
import { KeyStore, tooManyKeys } from "../../src/services/KeyStore.ts"
import { CorrectionImpossible, type Discrepancy, Ledger } from "../../src/services/Ledger.ts"
import { People } from "../../src/services/People.ts"
import type { Provider } from "../../src/services/Provider.ts"
import { ProviderStates } from "../../src/services/ProviderStates.ts"

import { QueryLog } from "../../src/services/QueryLog.ts"

import { SecretMismatch, SecretRotation } from "../../src/services/SecretRotation.ts"

import { AppConfig } from "../../src/settings/Settings.ts"
import * as AuditMemory from "../../src/testing/AuditMemory.ts"
import { MemoryStore } from "../../src/testing/MemoryStore.ts"

const account: Account = {
  id: "acc_1",
  email: "a@b.example",
  plan: "growth",
  quota: 75_000,
  concurrency: 5,
  cycleStart: Date.UTC(2026, 0, 31),
  createdAt: 0,
  suspendedAt: undefined
}

const key = {
  id: "key_1",
  accountId: "acc_1",
  label: "ci",
  mode: "test" as const,
  hint: "sk_test_0123…wxyz",
  createdAt: 0,
  lastUsedAt: undefined,
  revokedAt: undefined
}

const issued = { key, secret: Redacted.make("sk_test_secret") }

const unknown = () => Effect.fail(new NotFound({ message: "There is no such thing." }))

const allowance = { plan: "growth" as const, quota: 75_000, used: 5, balance: 7, periodStart: 0, resetsAt: 1000 }

const storage = (discrepancies: ReadonlyArray<Discrepancy>) =>
  Layer.mergeAll(
    Layer.mock(Accounts, {
      create: (choice) =>
        choice.plan === "custom" && choice.quota === undefined
          ? Effect.fail(new AccountError({ message: "custom needs a quota" }))
          : Effect.succeed({ ...account, ...choice, quota: choice.quota, concurrency: choice.concurrency ?? 5 }),
      byId: (id) => (id === account.id ? Effect.succeed(account) : unknown()),
      byEmail: () => Effect.succeed(account),
      list: () => Effect.succeed([account, { ...account, id: "acc_2", suspendedAt: 1000 }]),
      suspend: (id) => (id === account.id ? Effect.succeed({ ...account, suspendedAt: 1000 }) : unknown()),
      resume: () => Effect.succeed(account),
      setEmail: (_, email) => Effect.succeed({ ...account, email }),
      setPlan: (_, choice) =>
        Effect.succeed({ ...account, plan: choice.plan, quota: choice.quota, cycleStart: choice.cycleStart })
    }),
    Layer.mock(KeyStore, {
      create: (id, { label, mode }) =>
        id === "acc_full" ? Effect.fail(tooManyKeys) : Effect.succeed({ ...issued, key: { ...key, label, mode } }),
      list: () => Effect.succeed([key, { ...key, revokedAt: 1000 }]),
      listAll: ({ limit }) => Effect.succeed([key, { ...key, id: "key_0" }].slice(0, limit)),
      revokeAll: () => Effect.succeed([{ ...key, revokedAt: 1000 }]),
      revoke: (id) => (id === key.id ? Effect.succeed({ ...key, revokedAt: 1000 }) : unknown()),
      rotate: () => Effect.succeed(issued)
    }),
    Layer.mock(Ledger, {
      allowance: () => Effect.succeed(allowance),
      grant: (_, credits) => Effect.succeed(credits + 7),
      adjust: (it) =>
        it.credits < -7
          ? Effect.fail(CorrectionImpossible.ofAdjustment(it, { quota: 9, used: 5, held: 0, balance: 7 }))
          : Effect.succeed({ ...allowance, balance: allowance.balance + it.credits }),
      repair: ({ accountId }) => Effect.succeed([{ accountId, what: "pack balance" as const, expected: 5, found: 6 }]),
      verify: Effect.succeed(discrepancies)
    }),
    Layer.mock(DocumentIndex, {
      load: (documents) => Stream.runCount(documents),
      stats: Effect.succeed({ documents: 3, byTarget: { beta_search: 1 } }),
      clear: Effect.succeed(3)
    }),
    Layer.mock(People, {
      endSessions: () => Effect.succeed(2),
      setEmail: () => Effect.void,
      makeSignInLink: () =>
        Effect.succeed({ link: Redacted.make("http://quarry.test/oauth/confirm?token=t"), expiresAt: 1000 })
    }),
    Layer.mock(QueryLog, {
      usage: () =>
        Effect.succeed([
          {
            start: 0,
            group: "key_1",
            searches: 3,
            credits: 3,
            outcomes: { ok: 2, upstream_error: 1, upstream_timeout: 0 }
          }
        ]),
      erase: () => Effect.void
    }),
    Layer.mock(AccountRemoval, { end: () => Effect.void }),
    AuditMemory.layer.pipe(Layer.provideMerge(MemoryStore.layer)),
    AppConfig.layerTest({ quarryOperator: "ada" })
  )

/** Two providers that answer, and one for each refusal. */
const providers = (refusals: ReadonlyArray<Refusal>) => {
  const capabilities: Capabilities = {
    paging: { kind: "sized", maxPageSize: 20, maxPages: 10 },
    safe: ["off", "strict"],
    countries: ["us", "de"],
    languages: "any"
  }
  const row = { url: "https://a.test/", title: "A", snippet: "" }
  const all: ReadonlyArray<Provider> = [
    { name: "meta/google", capabilities, search: () => Effect.succeed([row]) },
    { name: "own", search: () => Effect.succeed([row, row]) },
    ...refusals.map((refusal, index) => ({ name: `bad${index}`, search: () => Effect.fail(refusal) }))
  ]
  return Layer.effectDiscard(Effect.flatMap(ProviderStates, ({ monitor }) => Effect.forEach(all, monitor))).pipe(
    Layer.provideMerge(Layer.merge(ProviderStates.layer, AppConfig.layerTest()))
  )
}

/** What a command writes in pieces is a line of the tests' console for each piece. */
const printPiece = (piece: string | Uint8Array) => Console.log(piece)
const stdio = Stdio.layerTest({ stdout: () => Sink.forEach(printPiece) })

const settled = {
  name: "KEY_PEPPER" as const,
  state: "settled" as const,
  processes: 2,
  processesWithout: 0,
  remaining: 0
}

const rotation = Layer.mock(SecretRotation, {
  status: Effect.succeed([{ ...settled, state: "rotating" as const, remaining: 3 }]),
  finish: ({ force }) =>
    force ? Effect.succeed([settled]) : Effect.fail(new SecretMismatch({ message: "3 API keys were not used." })),
  rotate: Effect.succeed([settled]),
  adopt: Effect.succeed([settled])
})

/** Runs a command line; what it printed and the exit code of the process. */
const quarry = (
  args: ReadonlyArray<string>,
  foundations: { readonly storage?: ReturnType<typeof storage>; readonly refusals?: ReadonlyArray<Refusal> } = {}
) =>
  Effect.gen(function* () {
    const run = Quarry.make({
      settings: AppConfig.layerTest({ keyPepper: [Redacted.make("hunter2")] }),
      providers: providers(foundations.refusals ?? []),
      database: Layer.effect(SqlClient.SqlClient, Effect.die(new Error("no command here needs it"))),
      inspection: Layer.effectContext(Effect.die(new Error("no command here needs it"))),
      overview: Layer.effectContext(Effect.die(new Error("no command here needs it"))),
      secrets: Layer.merge(rotation, foundations.storage ?? storage([])),
      storage: foundations.storage ?? storage([]),
      exportAccount: ({ id }) => Effect.succeed(Stream.make(`{"account":`, `"${id}"}`))
    })
    // A test may run several command lines, and the console of tests keeps all of their lines.
    const before = { out: (yield* TestConsole.logLines).length, err: (yield* TestConsole.errorLines).length }
    const exit = yield* Effect.exit(Effect.tapCause(run(args), complain))
    const out = (yield* TestConsole.logLines).slice(before.out).map(String)
    const err = (yield* TestConsole.errorLines).slice(before.err).map(String)
    return { code: codeOf(exit), out, err }
  }).pipe(Effect.provide([TestConsole.layer, NodeServices.layer, stdio]))

const connectionError = new SqlError.SqlError({
  reason: new SqlError.ConnectionError({ cause: new Error("connect ECONNREFUSED"), message: "", operation: "connect" })
})

const words = (line: string) => line.split(" ")

describe("quarry providers check", () => {
  const refusal = new Refusal({ reason: "unauthorized", message: "it answered 401" })

  it.effect("prints what each provider and engine answered to a live search, and what it serves", () =>
    Effect.gen(function* () {
      const { code, out } = yield* quarry(words("providers check"))
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(out.join("\n").split("\n"), [
        "PROVIDER  ENGINE  RESULT  ROWS  MS  SERVES",
        "meta      google  ok      1     0   pages up to 20, 10 pages; safe off/strict; 2 countries; any language",
        "own       -       ok      2     0   everything"
      ])
    })
  )

  it.effect("fails, with all of them in its object, when one gave no answer", () =>
    Effect.gen(function* () {
      const { code, err, out } = yield* quarry(words("providers check --json"), { refusals: [refusal] })
      assert.deepStrictEqual([code, err], [1, ["quarry: 1 of 3 providers gave no answer."]])
      const { ok, providers } = JSON.parse(out.at(-1) ?? "")
      assert.deepStrictEqual([ok, providers.length], [false, 3])
      assert.deepStrictEqual(providers[0].serves, {
        paging: "sized",
        rows: 20,
        max_pages: 10,
        safe: ["off", "strict"],
        countries: ["us", "de"],
        languages: "any",
        max_query_code_points: null,
        max_query_words: null
      })
      assert.deepStrictEqual(providers[2], {
        provider: "bad0",
        engine: null,
        ok: false,
        rows: null,
        ms: 0,
        refusal: { reason: "unauthorized", message: "it answered 401" },
        serves: null
      })
    })
  )
})

describe("quarry --json", () => {
  it.effect.each([
    ["account create --email A@B.example --plan growth", { account_id: "acc_1", email: "a@b.example", plan: "growth" }],
    [
      "account show --id acc_1",
      {
        account_id: "acc_1",
        email: "a@b.example",
        plan: "growth",
        quota: 75_000,
        concurrency: 5,
        cycle_start: "2026-01-31T00:00:00.000Z",
        created_at: "1970-01-01T00:00:00.000Z",
        suspended_at: null,
        allowance: {
          quota: 75_000,
          used: 5,
          remaining: 74_995,
          period_start: "1970-01-01T00:00:00.000Z",
          resets_at: "1970-01-01T00:00:01.000Z"
        },
        balance: 7
      }
    ],
    [
      "account set-plan --id acc_1 --plan custom --quota 9 --cycle-start 2026-02-01T01:00:00+01:00",
      {
        account_id: "acc_1",
        email: "a@b.example",
        plan: "custom",
        quota: 9,
        concurrency: 5,
        cycle_start: "2026-02-01T00:00:00.000Z",
        created_at: "1970-01-01T00:00:00.000Z",
        suspended_at: null
      }
    ],
    [
      "account usage --id acc_1 --group-by key",
      {
        account_id: "acc_1",
        from: "1970-01-01T00:00:00.000Z",
        to: "1970-01-01T01:00:00.000Z",
        granularity: "day",
        group_by: "key",
        totals: { searches: 3, credits: 3, outcomes: { ok: 2, upstream_error: 1, upstream_timeout: 0 } },
        series: [
          {
            start: "1970-01-01T00:00:00.000Z",
            group: "key_1",
            searches: 3,
            credits: 3,
            outcomes: { ok: 2, upstream_error: 1, upstream_timeout: 0 }
          }
        ]
      }
    ],
    [
      "account sign-in-link --id acc_1",
      {
        account_id: "acc_1",
        link: "http://quarry.test/oauth/confirm?token=t",
        expires_at: "1970-01-01T00:00:01.000Z"
      }
    ],
    ["account delete --id acc_1 --yes", { account_id: "acc_1", deleted: true }],
    ["sessions end --account acc_1", { account_id: "acc_1", ended: 2 }],
    ["audit list", { entries: [], next: null }],
    ["account grant --id acc_1 --credits 10 --reason refund", { balance: 17 }],
    [
      "key create --account acc_1 --name ci --mode test",
      { id: "key_1", secret: "sk_test_secret", label: "ci", mode: "test" }
    ],
    ["key create --account acc_1 --name ci", { id: "key_1", secret: "sk_test_secret", label: "ci", mode: "live" }],
    ["key rotate --id key_1", { id: "key_1", secret: "sk_test_secret", label: "ci", mode: "test" }],
    ["index stats", { documents: 3, by_target: { beta_search: 1 } }],
    ["index clear", { removed: 3 }],
    ["index load data/starter-index.jsonl.gz", { loaded: 17_383 }],
    ["ledger verify", { ok: true, discrepancies: [] }],
    [
      "ledger adjust --account acc_1 --credits -2 --reason late --by ann",
      { account_id: "acc_1", quota: 75_000, used: 5, balance: 5 }
    ],
    [
      "ledger repair --account acc_1 --keep entries --reason late --by ann",
      {
        account_id: "acc_1",
        repaired: [{ account_id: "acc_1", what: "pack balance", expected: 5, found: 6 }]
      }
    ]
  ] as const)("%s prints one object on one line", ([line, expected]) =>
    Effect.gen(function* () {
      const { code, err, out } = yield* quarry([...words(line), "--json"])
      assert.deepStrictEqual(out, [JSON.stringify(expected)])
      assert.deepStrictEqual({ code, err }, { code: 0, err: [] })
    })
  )

  it.effect.each(["key list --account acc_1", "key revoke --id key_1"])("%s shows no secret", (line) =>
    Effect.gen(function* () {
      const { code, out } = yield* quarry(["--json", ...words(line)])
      assert.deepStrictEqual({ code, lines: out.length }, { code: 0, lines: 1 })
      assert.notInclude(out[0], "sk_test_secret")
      assert.include(out[0], key.hint)
    })
  )

  it.effect("account export prints the document as it is, with --json or without", () =>
    Effect.gen(function* () {
      for (const flags of [[], ["--json"]]) {
        const { code, out } = yield* quarry([...words("account export --id acc_1"), ...flags])
        assert.deepStrictEqual([code, out.join("")], [0, '{"account":"acc_1"}\n'])
      }
    })
  )

  it.effect("config prints every setting, secrets redacted", () =>
    Effect.gen(function* () {
      const { out } = yield* quarry(["config", "--json"])
      assert.strictEqual(JSON.parse(out.join()).KEY_PEPPER, "<redacted>")
      assert.notInclude((yield* quarry(["config"])).out.join(), "hunter2")
    })
  )

  it.effect("secrets shows how far a rotation is, and ends nothing unasked", () =>
    Effect.gen(function* () {
      const { out } = yield* quarry(["secrets", "status"])
      assert.deepStrictEqual(out.join("\n").split("\n"), [
        "SECRET      STATE     PROCESSES  WITHOUT NEW  ON OLD VALUE",
        "KEY_PEPPER  rotating  2          0            3"
      ])
      const state = { name: "KEY_PEPPER", state: "settled", processes: 2, processes_without: 0, remaining: 0 }
      for (const line of ["secrets finish --force --json", "secrets adopt --yes --json"]) {
        assert.deepStrictEqual(JSON.parse((yield* quarry(words(line))).out.at(-1) ?? ""), { secrets: [state] })
      }
      const { code, err } = yield* quarry(["secrets", "finish"])
      assert.deepStrictEqual([code, err.at(-1)], [1, "quarry: 3 API keys were not used."])
      assert.strictEqual((yield* quarry(["secrets", "adopt"])).code, 1)
    })
  )

  it.effect("an adjustment that is refused is exit 1 with what to do", () =>
    Effect.gen(function* () {
      const { code, err, out } = yield* quarry([
        ...words("ledger adjust --account acc_1 --credits -8 --reason a --by b")
      ])
      assert.deepStrictEqual(
        { code, err, out },
        {
          code: 1,
          err: ["quarry: The pack balance of account acc_1 is 7: 8 cannot be taken from it. Take 7 or less."],
          out: []
        }
      )
    })
  )

  it.effect("a ledger that disagrees is exit 1 with the list on stdout", () =>
    Effect.gen(function* () {
      const wrong = storage([{ accountId: "acc_1", what: "pack balance", expected: 1, found: 2 }])
      const { code, err, out } = yield* quarry(["ledger", "verify", "--json"], { storage: wrong })
      assert.strictEqual(code, 1)
      assert.deepStrictEqual(JSON.parse(out.join()), {
        ok: false,
        discrepancies: [{ account_id: "acc_1", what: "pack balance", expected: 1, found: 2 }]
      })
      assert.match(err.join(), /does not add up/)
    })
  )
})

describe("quarry audit", () => {
  /** Runs the command and reads its entry; the tests' operator is ada. */
  const entryOf = Effect.fnUntraced(function* (line: string) {
    const services = yield* Effect.map(Layer.build(storage([])), Layer.succeedContext)
    const before = yield* quarry(words(`${line} --json`), { storage: services })
    assert.deepStrictEqual([before.code, before.err], [0, []])
    const { out } = yield* quarry(words("audit list --json"), { storage: services })
    return JSON.parse(out.join()).entries
  })

  it.effect.each([
    ["account create --email a@b.example --plan growth", "acc_1", { plan: "growth" }],
    ["account set-plan --id acc_1 --plan custom --quota 9", "acc_1", { plan: "custom", quota: 9 }],
    ["account set-email --id acc_1 --email new@b.example", "acc_1", {}],
    [
      "account grant --id acc_1 --credits 10 --reason refund --idempotency-key order-1",
      "acc_1",
      { credits: 10, reason: "refund", idempotency_key: "order-1" }
    ],
    ["account suspend --id acc_1 --reason abuse", "acc_1", { reason: "abuse" }],
    ["account resume --id acc_1", "acc_1", {}],
    ["account adjust --id acc_1 --credits -2 --reason late", "acc_1", { credits: -2, to: "balance", reason: "late" }],
    ["ledger adjust --account acc_1 --credits 2 --reason late", "acc_1", { credits: 2, to: "balance", reason: "late" }],
    [
      "ledger repair --account acc_1 --keep entries --reason drift",
      "acc_1",
      { keep: "entries", reason: "drift", repaired: 1 }
    ],
    ["account sign-in-link --id acc_1", "acc_1", {}],
    ["account export --id acc_1", "acc_1", {}],
    ["account delete --id acc_1 --yes", "acc_1", {}],
    ["sessions end --account acc_1", "acc_1", { sessions: 2 }],
    ["key create --account acc_1 --name ci", "key_1", { account: "acc_1", mode: "live" }],
    ["key rotate --id key_1", "key_1", { account: "acc_1", new_key: "key_1" }],
    ["key revoke --id key_1", "key_1", { account: "acc_1" }],
    ["key revoke --all --account acc_1 --yes", "acc_1", { keys: 1 }],
    ["index load data/starter-index.jsonl.gz", null, { file: resolve("data/starter-index.jsonl.gz") }],
    ["index clear", null, { documents: 3 }],
    ["secrets rotate", null, {}],
    ["secrets finish --force", null, { force: true }],
    ["secrets adopt --yes", null, {}]
  ] as const)("%s is recorded, without secrets, addresses and names", ([line, subject, args]) =>
    Effect.gen(function* () {
      const entries = yield* entryOf(line)
      const command = words(line)
        .slice(0, line.startsWith("key revoke --all") ? 3 : 2)
        .join(" ")
      assert.deepStrictEqual(entries, [
        { id: 1, at: "1970-01-01T00:00:00.000Z", operator: "ada", command, subject, arguments: args }
      ])
      assert.notMatch(JSON.stringify(entries), /b\.example|sk_test|token/)
    })
  )

  it.effect.each([
    "account show --id acc_1",
    "account list",
    "account search a@b",
    "account usage --id acc_1",
    "key list --all",
    "index stats",
    "ledger verify"
  ])("%s only reads, and is not recorded", (line) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* entryOf(line), [])
    })
  )

  it.effect("names the operator by --by, before QUARRY_OPERATOR", () =>
    Effect.gen(function* () {
      const [entry] = yield* entryOf("account resume --id acc_1 --by grace")
      assert.strictEqual(entry.operator, "grace")
    })
  )
})

describe("quarry lists", () => {
  it.effect.each([
    ["account list", "accounts", "account_id"],
    ["account search b.example", "accounts", "account_id"],
    ["key list --all", "keys", "id"]
  ] as const)("%s prints a page, and where the next one begins when it is full", ([line, name, id]) =>
    Effect.gen(function* () {
      const last = yield* quarry(words(`${line} --json`))
      assert.strictEqual(JSON.parse(last.out.join()).next, null)
      const full = yield* quarry(words(`${line} --limit 2 --json`))
      const page = JSON.parse(full.out.join())
      assert.strictEqual(page.next, page[name].at(-1)[id])
      assert.include((yield* quarry(words(`${line} --limit 2`))).out.join("\n"), `--after ${page.next}`)
    })
  )
})

describe("quarry", () => {
  it.effect.each([
    ["account show --id acc_2", "not_found", /^There is no such thing\.$/],
    ["account create --email a@b.example --plan custom", "account_error", /^custom needs a quota$/],
    ["account delete --id acc_1", "command_failed", /^This deletes acc_1 \(a@b\.example\) for good\. .*--yes/],
    ["account suspend --id acc_2 --reason abuse", "not_found", /^There is no such thing\.$/],
    ["key revoke --all --account acc_1", "command_failed", /^This revokes 1 keys of acc_1\. .*--yes/],
    ["account usage --id acc_1 --from 2026-01-02 --to 2026-01-01", "command_failed", /must be before to/],
    ["key revoke --id key_2", "not_found", /^There is no such thing\.$/],
    ["key create --account acc_full --name ci", "command_failed", /^an account has at most 50 active API keys: .+$/],
    ["key list --account acc_2", "not_found", /^There is no such thing\.$/],
    ["index load package.json", "document_file_error", /package\.json line 1: \S+/]
  ] as const)("%s is refused: exit 1, one line on stderr, and with --json one object", ([line, error, message]) =>
    Effect.gen(function* () {
      const refused = yield* quarry(words(line))
      assert.deepStrictEqual([refused.code, refused.out, refused.err.length], [1, [], 1])
      assert.match(refused.err.join(), /^quarry: [^\n]+$/)
      const { code, err, out } = yield* quarry([...words(line), "--json"])
      assert.deepStrictEqual({ code, err, lines: out.length }, { code: 1, err: refused.err, lines: 1 })
      const object = JSON.parse(out.join())
      assert.deepStrictEqual([Object.keys(object), object.error], [["error", "message"], error])
      assert.match(object.message, message)
      assert.strictEqual(`quarry: ${object.message}`, err.join())
    })
  )

  it.effect.each([
    ["a database that is down", "unavailable", connectionError, /cannot be reached/],
    ["a fault of ours", "internal_error", new Error("boom"), /fault of Quarry/]
  ] as const)("%s is one object too, with --json", ([, error, defect, message]) =>
    Effect.gen(function* () {
      const broken = Layer.mock(Accounts, { byId: () => Effect.die(defect) })
      const failing = Layer.merge(storage([]), broken)
      const { code, out } = yield* quarry(words("account show --id acc_1 --json"), { storage: failing })
      assert.deepStrictEqual([code, out.length], [1, 1])
      const object = JSON.parse(out.join())
      assert.strictEqual(object.error, error)
      assert.match(object.message, message)
      assert.notInclude(out.join(), "boom")
    })
  )

  /** What must not be opened for a command line that is not valid. */
  const closed = Layer.unwrap(
    Effect.sync((): ReturnType<typeof storage> => {
      throw new Error("the storage was opened")
    })
  )

  it.effect.each([
    "frobnicate",
    "account",
    "account create",
    "account create --email",
    "account create --email nobody",
    "account create --email a@b.example --frob",
    "account create --email a@b.example --plan gold",
    "account create --email a@b.example --quota -1",
    "account create --email a@b.example --quota 1.5",
    "account create --email a@b.example --concurrency 0",
    "account create --email a@b.example --cycle-start tomorrow",
    "account create --email a@b.example --cycle-start 2026-01-31T08:00:00",
    "account create --email a@b.example --cycle-start 2026-13-31",
    "account show",
    "account show --id acc_1 --email a@b.example",
    "account set-plan --id acc_1",
    "account grant --id acc_1 --credits 0 --reason x",
    "account grant --id acc_1 --credits ten --reason x",
    "account grant --id acc_1 --credits 10",
    "key create --account acc_1",
    "key create --account acc_1 --name n --mode prod",
    "account suspend --id acc_1",
    "account list --limit 0",
    "account list --limit 1001",
    "account search",
    "account usage --id acc_1 --from yesterday",
    "account grant --id acc_1 --credits 1 --reason x --idempotency-key é",
    "account adjust --id acc_1 --credits 0 --reason x",
    "audit list --after x",
    "key list",
    "key list --all --account acc_1",
    "key revoke",
    "key revoke key_1",
    "key revoke --all",
    "key revoke --account acc_1 --yes",
    "key revoke --all --account acc_1 --id key_1 --yes",
    "index load",
    "index load nowhere.jsonl",
    "index load package.json --target omega_search"
  ])("%s is a usage error: exit 2, on stderr, and with --json one object; storage untouched", (line) =>
    Effect.gen(function* () {
      const plain = yield* quarry(words(line), { storage: closed })
      assert.deepStrictEqual([plain.code, plain.out], [2, []], plain.err.join("\n"))
      assert.notStrictEqual(plain.err.join("").trim(), "")
      const { code, err, out } = yield* quarry([...words(line), "--json"], { storage: closed })
      assert.deepStrictEqual({ code, err, lines: out.length }, { code: 2, err: plain.err, lines: 1 })
      const { error, message } = JSON.parse(out.join())
      assert.strictEqual(error, "usage")
      assert.match(message, /\S/)
    })
  )

  it.effect("--help is an answer: exit 0, on stdout", () =>
    Effect.gen(function* () {
      const { code, err, out } = yield* quarry(["key", "create", "--help"], { storage: closed })
      assert.deepStrictEqual({ code, err }, { code: 0, err: [] })
      assert.include(out.join("\n"), "--name")
    })
  )
})
