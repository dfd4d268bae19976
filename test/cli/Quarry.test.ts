import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, FileSystem, Layer, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { TestConsole } from "effect/testing"
import { codeOf, complain } from "../../src/cli/exit.ts"
import * as Quarry from "../../src/cli/Quarry.ts"
import type { Account } from "../../src/domain/Account.ts"
import type { Capabilities } from "../../src/domain/Capabilities.ts"
import { NotFound } from "../../src/domain/errors.ts"
import { Refusal } from "../../src/domain/Refusal.ts"
import { AccountError, Accounts } from "../../src/services/Accounts.ts"
import { DocumentIndex } from "../../src/services/DocumentIndex.ts"
import { KeyStore, tooManyKeys } from "../../src/services/KeyStore.ts"
import { type Discrepancy, Ledger } from "../../src/services/Ledger.ts"
import type { Provider } from "../../src/services/Provider.ts"
import { ProviderStates } from "../../src/services/ProviderStates.ts"
import { AppConfig } from "../../src/settings/Settings.ts"

const account: Account = {
  id: "acc_1",
  email: "a@b.example",
  plan: "growth",
  quota: 75_000,
  concurrency: 5,
  cycleStart: Date.UTC(2026, 0, 31),
  createdAt: 0
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

const storage = (discrepancies: ReadonlyArray<Discrepancy>) =>
  Layer.mergeAll(
    Layer.mock(Accounts, {
      create: (choice) =>
        choice.plan === "custom" && choice.quota === undefined
          ? Effect.fail(new AccountError({ message: "custom needs a quota" }))
          : Effect.succeed({ ...account, ...choice, quota: choice.quota, concurrency: choice.concurrency ?? 5 }),
      byId: (id) => (id === account.id ? Effect.succeed(account) : unknown()),
      byEmail: () => Effect.succeed(account),
      setPlan: (_, choice) =>
        Effect.succeed({ ...account, plan: choice.plan, quota: choice.quota, cycleStart: choice.cycleStart })
    }),
    Layer.mock(KeyStore, {
      create: (id, { label, mode }) =>
        id === "acc_full" ? Effect.fail(tooManyKeys) : Effect.succeed({ ...issued, key: { ...key, label, mode } }),
      list: () => Effect.succeed([key]),
      revoke: (id) => (id === key.id ? Effect.succeed({ ...key, revokedAt: 1000 }) : unknown()),
      rotate: () => Effect.succeed(issued)
    }),
    Layer.mock(Ledger, {
      allowance: () =>
        Effect.succeed({ plan: "growth", quota: 75_000, used: 5, balance: 7, periodStart: 0, resetsAt: 1000 }),
      grant: (_, credits) => Effect.succeed(credits + 7),
      verify: Effect.succeed(discrepancies)
    }),
    Layer.mock(DocumentIndex, {
      load: (documents) => Effect.map(Stream.runCount(documents), (written) => ({ written, removed: 0 })),
      stats: Effect.succeed({ documents: 3, byTarget: { beta_search: 1 } }),
      clear: Effect.succeed(3)
    })
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

/** Runs a command line; what it printed and the exit code of the process. */
const quarry = (
  args: ReadonlyArray<string>,
  foundations: { readonly storage?: ReturnType<typeof storage>; readonly refusals?: ReadonlyArray<Refusal> } = {}
) =>
  Effect.gen(function* () {
    const run = Quarry.make({
      settings: AppConfig.layerTest({ keyPepper: Redacted.make("hunter2") }),
      providers: providers(foundations.refusals ?? []),
      database: Layer.effect(SqlClient.SqlClient, Effect.die(new Error("no command here needs it"))),
      storage: foundations.storage ?? storage([])
    })
    const exit = yield* Effect.exit(Effect.tapCause(run(args), complain))
    const lines = (all: ReadonlyArray<unknown>) => all.map(String)
    return { code: codeOf(exit), out: lines(yield* TestConsole.logLines), err: lines(yield* TestConsole.errorLines) }
  }).pipe(Effect.provide([TestConsole.layer, NodeServices.layer]))

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
        created_at: "1970-01-01T00:00:00.000Z"
      }
    ],
    ["account grant --id acc_1 --credits 10 --reason refund", { balance: 17 }],
    [
      "key create --account acc_1 --name ci --mode test",
      { id: "key_1", secret: "sk_test_secret", label: "ci", mode: "test" }
    ],
    ["key create --account acc_1 --name ci", { id: "key_1", secret: "sk_test_secret", label: "ci", mode: "live" }],
    ["key rotate --id key_1", { id: "key_1", secret: "sk_test_secret", label: "ci", mode: "test" }],
    ["index stats", { documents: 3, by_target: { beta_search: 1 } }],
    ["index clear", { removed: 3 }],
    ["index load data/starter-index.jsonl.gz", { loaded: 20_782, removed: 0, failed: 0, problems: [] }],
    ["ledger verify", { ok: true, discrepancies: [] }]
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

  it.effect("config prints every setting, secrets redacted", () =>
    Effect.gen(function* () {
      const { out } = yield* quarry(["config", "--json"])
      assert.strictEqual(JSON.parse(out.join()).KEY_PEPPER, "<redacted>")
      assert.notInclude((yield* quarry(["config"])).out.join(), "hunter2")
    })
  )

  it.effect("a ledger that disagrees is exit 1 with the list on stdout", () =>
    Effect.gen(function* () {
      const wrong = storage([{ accountId: "acc_1", what: "used", expected: 1, found: 2 }])
      const { code, err, out } = yield* quarry(["ledger", "verify", "--json"], { storage: wrong })
      assert.strictEqual(code, 1)
      assert.deepStrictEqual(JSON.parse(out.join()), {
        ok: false,
        discrepancies: [{ account_id: "acc_1", what: "used", expected: 1, found: 2 }]
      })
      assert.match(err.join(), /does not add up/)
    })
  )
})

describe("quarry index load", () => {
  const line = (n: number) => JSON.stringify({ url: `https://a.example/${n}`, title: `${n}`, description: "" })

  /** Runs `index load` on a file with these lines. What the index was given, and what the command printed. */
  const load = Effect.fnUntraced(function* (lines: ReadonlyArray<string>, flags: ReadonlyArray<string>) {
    const files = yield* FileSystem.FileSystem
    const path = `${yield* files.makeTempDirectoryScoped()}/a.jsonl`
    yield* files.writeFileString(path, lines.join("\n"))
    const loads: Array<{ readonly urls: ReadonlyArray<string>; readonly replace: boolean }> = []
    const index = Layer.mock(DocumentIndex, {
      load: (documents, { replace }) =>
        Effect.map(Stream.runCollect(documents), (all) => {
          loads.push({ urls: all.map(({ url }) => url.slice("https://a.example/".length)), replace })
          return { written: all.length, removed: replace ? 2 : 0 }
        })
    })
    const printed = yield* quarry(["index", "load", path, ...flags], { storage: Layer.merge(storage([]), index) })
    return { loads, ...printed, err: printed.err.map((text) => text.replaceAll(path, "a.jsonl")) }
  }, Effect.provide(NodeServices.layer))

  it.effect("loads the rest when a line is no document, names the line, and fails", () =>
    Effect.gen(function* () {
      const { code, err, loads, out } = yield* load([line(1), "{", line(3)], [])
      assert.deepStrictEqual(
        { code, out, loads },
        {
          code: 1,
          out: ["Loaded 2 documents."],
          loads: [{ urls: ["1", "3"], replace: false }]
        }
      )
      assert.match(err[0] ?? "", /^a\.jsonl line 2: \S+/)
      assert.deepStrictEqual(err.slice(1), ["quarry: 1 could not be loaded."])
    })
  )

  const broken = Array.from({ length: 150 }, () => "{")

  it.effect("lists at most 20 problems", () =>
    Effect.gen(function* () {
      const { err } = yield* load(broken, [])
      assert.strictEqual(err.length, 21)
      assert.strictEqual(err.at(-1), "quarry: 150 could not be loaded (the first 20 are listed).")
    })
  )

  it.effect("lists at most 100 problems in the object", () =>
    Effect.gen(function* () {
      const { err, out } = yield* load(broken, ["--json"])
      const { failed, loaded, problems } = JSON.parse(out.join())
      assert.deepStrictEqual([failed, loaded, problems.length, problems[99].line], [150, 0, 100, 100])
      assert.deepStrictEqual(err, ["quarry: 150 could not be loaded (the first 100 are listed)."])
    })
  )

  it.effect("--replace removes what the source does not have", () =>
    Effect.gen(function* () {
      const { code, loads, out } = yield* load([line(1)], ["--replace"])
      assert.deepStrictEqual({ code, loads }, { code: 0, loads: [{ urls: ["1"], replace: true }] })
      assert.deepStrictEqual(out, ["Loaded 1 document.\nRemoved 2 documents that the source does not have."])
    })
  )

  it.effect("--replace removes nothing when a document is broken, because it has not vanished", () =>
    Effect.gen(function* () {
      const { code, err, loads } = yield* load([line(1), "{"], ["--replace"])
      assert.deepStrictEqual({ code, loads }, { code: 1, loads: [{ urls: ["1"], replace: false }] })
      assert.match(err.at(-1) ?? "", /^quarry: 1 could not be loaded\. Nothing was removed/)
    })
  )

  it.effect("--replace with an empty file removes nothing: whoever wants that clears the index", () =>
    Effect.gen(function* () {
      const { code, err, loads } = yield* load([], ["--replace"])
      assert.deepStrictEqual({ code, loads }, { code: 1, loads: [] })
      assert.match(err.join(), /^quarry: The source has no documents\. Nothing was removed/)
    })
  )

  it.effect("a load that is stopped says that it can be run again", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const index = Layer.mock(DocumentIndex, {
        load: (documents) =>
          Stream.runDrain(documents).pipe(
            Effect.andThen(Deferred.succeed(started, undefined)),
            Effect.andThen(Effect.never)
          )
      })
      const run = Quarry.make({
        settings: AppConfig.layerTest(),
        providers: providers([]),
        database: Layer.effect(SqlClient.SqlClient, Effect.die(new Error("no command here needs it"))),
        storage: Layer.merge(storage([]), index)
      })
      const fiber = yield* Effect.forkChild(run(["index", "load", "data/starter-index.jsonl.gz"]))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* TestConsole.errorLines, [
        "Stopped after reading 20782 documents. Run the same command again to load the rest."
      ])
    }).pipe(Effect.provide([TestConsole.layer, NodeServices.layer]))
  )
})

describe("quarry", () => {
  it.effect.each([
    ["account show --id acc_2", /^quarry: There is no such thing\.$/],
    ["account create --email a@b.example --plan custom", /^quarry: custom needs a quota$/],
    ["key revoke --id key_2", /^quarry: There is no such thing\.$/],
    ["key create --account acc_full --name ci", /^quarry: an account has at most 50 active API keys: [^\n]+$/],
    ["key list --account acc_2", /^quarry: There is no such thing\.$/],
    ["index load docs", /^quarry: \S+docs is a folder: --base-url says [^\n]+$/],
    ["index load package.json --base-url https://a.example", /^quarry: --base-url and --folder are for pages, [^\n]+$/]
  ] as const)("%s is refused: exit 1, one line on stderr, nothing on stdout", ([line, message]) =>
    Effect.gen(function* () {
      const { code, err, out } = yield* quarry([...words(line), "--json"])
      assert.deepStrictEqual({ code, out, lines: err.length }, { code: 1, out: [], lines: 1 })
      assert.match(err.join(), message)
      assert.notMatch(err.join(), /\n/)
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
    "key list",
    "key revoke key_1",
    "index load",
    "index load nowhere.jsonl",
    "index load docs --base-url docs.example.org",
    "index load docs --base-url ftp://docs.example.org",
    "index load docs/sitemap.xml --folder nowhere",
    "index load package.json --target omega_search"
  ])("%s is a usage error: exit 2, stderr only, storage untouched", (line) =>
    Effect.gen(function* () {
      const { code, err, out } = yield* quarry([...words(line), "--json"], { storage: closed })
      assert.deepStrictEqual({ code, out }, { code: 2, out: [] }, err.join("\n"))
      assert.notStrictEqual(err.join("").trim(), "")
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
