import { resolve } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Console, Deferred, Effect, Fiber, FileSystem, Layer, Redacted, Sink, Stdio, Stream } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { TestConsole } from "effect/testing"
import { codeOf, complain } from "../../src/cli/exit.ts"
import * as Quarry from "../../src/cli/Quarry.ts"
import type { Account } from "../../src/domain/accounts/Account.ts"
import { InvalidRequest, LastOwner, NotFound } from "../../src/domain/errors.ts"
import { changeBounds, unbounded } from "../../src/domain/keys/KeyBounds.ts"
import { Refusal } from "../../src/domain/providers/Refusal.ts"
import type { Capabilities } from "../../src/domain/search/Capabilities.ts"
import { AccountRemoval } from "../../src/services/accounts/AccountRemoval.ts"
import { AccountError, Accounts } from "../../src/services/accounts/Accounts.ts"
import { Activity } from "../../src/services/accounts/Activity.ts"
import { Emails } from "../../src/services/accounts/Emails.ts"
import { Invitations } from "../../src/services/accounts/Invitations.ts"
import { type Member, Members } from "../../src/services/accounts/Members.ts"
import { Operators } from "../../src/services/accounts/Operators.ts"
import { People } from "../../src/services/accounts/People.ts"
import { BillingBooks } from "../../src/services/billing/BillingBooks.ts"
import { PaymentProvider, ProviderUnavailable } from "../../src/services/billing/PaymentProvider.ts"
import { type Drift, Reconciler } from "../../src/services/billing/Reconciler.ts"
import { QueryLog } from "../../src/services/charging/QueryLog.ts"
import { CorrectionImpossible, type Discrepancy, Ledger } from "../../src/services/credits/Ledger.ts"
import { DocumentIndex, type Replacement } from "../../src/services/index/DocumentIndex.ts"
import { ExternalIndexes, ExternalIndexFailed } from "../../src/services/index/ExternalIndexes.ts"
import { KeyStore, tooManyKeys } from "../../src/services/keys/KeyStore.ts"
import { Audit, type AuditEntry } from "../../src/services/operations/Audit.ts"
import { Backups } from "../../src/services/operations/Backups.ts"
import { LogRetention } from "../../src/services/operations/LogRetention.ts"
import { type Replica, Replicas } from "../../src/services/operations/Replicas.ts"
import { SecretMismatch, SecretRotation } from "../../src/services/operations/SecretRotation.ts"
import type { Provider } from "../../src/services/providers/Provider.ts"
import { ProviderPauses } from "../../src/services/providers/ProviderPauses.ts"
import { ProviderStates } from "../../src/services/providers/ProviderStates.ts"
import { StoreClock } from "../../src/services/StoreClock.ts"
import { type EndpointQueue, EventBooks, noSuchEndpoint } from "../../src/services/webhooks/EventBooks.ts"

import { AppConfig } from "../../src/settings/Settings.ts"
import * as StandardSettings from "../../src/testing/StandardSettings.ts"

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
  createdBy: undefined,
  lastUsedAt: undefined,
  revokedAt: undefined,
  bounds: unbounded,
  spending: undefined
}

const noBounds = { bounds: unbounded, spending: undefined }
const owner: Member = { id: "mem_1", email: "ada@example.com", role: "owner", status: "active", ...noBounds }
const guest: Member = { id: "mem_2", email: "grace@example.com", role: "viewer", status: "invited", ...noBounds }

const memberJson = ({ email, id, role, status }: Member) => ({ id, email, role, status, targets: null, budget: null })

const lastOwner = new LastOwner({ message: "The account must keep an owner." })

const operator = { personId: "usr_1", email: "ada@example.com", role: "observer" as const, since: 0, by: "ann" }
const operatorJson = { person: "usr_1", email: "ada@example.com", role: "observer", since: "1970-01-01T00:00:00.000Z" }

const issued = { key, secret: Redacted.make("sk_test_secret") }

const unknown = () => Effect.fail(new NotFound({ message: "There is no such thing." }))

const allowance = { plan: "growth" as const, quota: 75_000, used: 5, balance: 7, periodStart: 0, resetsAt: 1000 }

const dayMs = 86_400_000

/** Of six months, the last of which is made ahead of time. */
const months = Array.from({ length: 6 }, (_, index) => ({
  name: `2026-0${index + 2}`,
  end: Date.UTC(2026, index + 2, 1),
  bytes: index < 4 ? 3 * 1_048_576 : 0,
  searches: index < 4 ? 1_000 : undefined
}))

const noMail = Layer.merge(
  Layer.mock(Emails, { delivers: false, send: () => Effect.void }),
  Layer.mock(Invitations, { resend: () => Effect.succeed(guest) })
)

const pause = { provider: "meta", engine: undefined, by: "grace", reason: "captchas", since: 0 }
const pauseJson = { ...pause, engine: null, since: "1970-01-01T00:00:00.000Z" }

const replica: Replica = {
  id: "rep_1",
  host: "a.example",
  address: undefined,
  version: "0.1.0",
  commit: undefined,
  startedAt: 0,
  seenAt: 0,
  silentMs: 0,
  skewMs: 0,
  vitals: {
    redis: "off",
    pool: null,
    providers: [
      { provider: "meta", engine: "bing", phase: "closed", lastSuccessAt: null, lastRefusal: null, p95Ms: null }
    ]
  }
}

/** Keeps the entries of changes that succeed, newest first. */
const audit = Layer.sync(Audit, () => {
  const entries: Array<AuditEntry> = []
  return Audit.of({
    recorded: (change, recordOf) =>
      Effect.tap(change, (result) =>
        Effect.sync(() => entries.unshift({ ...recordOf(result), id: entries.length + 1, at: 0 }))
      ),
    append: (record) =>
      Effect.sync(() => {
        entries.unshift({ ...record, id: entries.length + 1, at: 0 })
      }),
    list: () => Effect.sync(() => [...entries])
  })
})

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
    Layer.mock(Activity, {
      page: (_, { type }) =>
        Effect.succeed({
          entries: [
            {
              ...{ id: "act_1", at: 0, type: `${type}.created`, actor: "operator", address: null },
              ...{ browser: null, changes: { name: "ci" } }
            }
          ],
          next: { atMicros: 1n, ordinal: 2n }
        })
    }),
    Layer.mock(Members, {
      list: () => Effect.succeed([owner, guest]),
      invite: (_, email, role) =>
        email === owner.email
          ? Effect.fail(InvalidRequest.fromIssues([{ field: "email", message: "is a member already" }]))
          : Effect.succeed({
              member: { ...guest, email, role },
              link: Redacted.make("http://localhost:3000/oauth/join?token=t")
            }),
      change: (_, id, { role, ...change }) =>
        id === owner.id
          ? Effect.fail(lastOwner)
          : Effect.succeed({ ...guest, role: role ?? guest.role, bounds: changeBounds(unbounded, change) }),
      remove: (_, id) => (id === owner.id ? Effect.fail(lastOwner) : Effect.succeed(guest))
    }),
    Layer.mock(KeyStore, {
      create: (id, { label, mode }) =>
        id === "acc_full" ? Effect.fail(tooManyKeys) : Effect.succeed({ ...issued, key: { ...key, label, mode } }),
      list: () => Effect.succeed([key, { ...key, revokedAt: 0 }]),
      listAll: ({ limit }) => Effect.succeed([key, { ...key, id: "key_0" }].slice(0, limit)),
      revokeAll: () => Effect.succeed([{ ...key, revokedAt: 1000 }]),
      revoke: (id) => (id === key.id ? Effect.succeed({ ...key, revokedAt: 1000 }) : unknown()),
      rotate: () => Effect.succeed(issued),
      bind: (_, change) => Effect.succeed({ ...key, bounds: changeBounds(unbounded, change) })
    }),
    Layer.mock(Ledger, {
      allowance: () => Effect.succeed(allowance),
      peek: () => Effect.succeed(allowance),
      grant: (_, credits) => Effect.succeed(credits + 7),
      adjust: (it) =>
        it.credits < -7
          ? Effect.fail(CorrectionImpossible.ofAdjustment(it, { quota: 9, used: 5, held: 0, balance: 7 }))
          : Effect.succeed({ ...allowance, balance: allowance.balance + it.credits }),
      repair: ({ accountId }) => Effect.succeed([{ accountId, what: "pack balance" as const, expected: 5, found: 6 }]),
      verify: Effect.succeed(discrepancies),
      verifyFully: Effect.succeed([
        { accountId: "acc_2", what: "closed months of the ledger" as const, expected: 3, found: 2 }
      ])
    }),
    Layer.mock(DocumentIndex, {
      load: (documents) => Effect.map(Stream.runCount(documents), (written) => ({ written, removed: 0 })),
      stats: Effect.succeed({ documents: 3, byTarget: { beta_search: 1 } }),
      remove: (_, target) => Effect.succeed(target === undefined ? 4 : 2),
      clear: Effect.succeed(3)
    }),
    Layer.mock(Operators, {
      add: (email, role, by) => Effect.succeed({ ...operator, email, role, by }),
      list: Effect.succeed([operator]),
      remove: () => Effect.succeed(operator)
    }),
    Layer.mock(People, {
      endSessions: () => Effect.succeed(2),
      setEmail: () => Effect.void,
      resetFactors: (email) => Effect.succeed({ id: "usr_1", email }),
      makeConfirmation: () => Effect.succeed({ personId: "usr_1", link: Redacted.make("http://quarry.test/token") }),
      invitationsOf: () => Effect.succeed([{ accountId: "acc_1", memberId: "mem_2" }]),
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
            outcomes: { ok: 2, upstream_error: 1, upstream_timeout: 0, page_unreadable: 0 }
          }
        ]),
      erase: () => Effect.void
    }),
    Layer.mock(LogRetention, {
      look: Effect.succeed({ retentionMs: 90 * dayMs, months, now: Date.UTC(2026, 5, 15) }),
      set: () => Effect.void
    }),
    Layer.mock(AccountRemoval, { end: () => Effect.void }),
    Layer.mock(ProviderPauses, {
      all: Effect.succeed([pause]),
      pause: ({ by, engine, provider, reason }) => Effect.succeed({ provider, engine, by, reason, since: 0 }),
      resume: ({ provider }) => Effect.succeed(provider === pause.provider ? [pause] : [])
    }),
    Layer.mock(Replicas, {
      all: Effect.succeed([replica]),
      forget: (id) => Effect.succeed(id === "rep_1" ? "forgotten" : id === "rep_2" ? "running" : "unknown")
    }),
    Layer.mock(EventBooks, {
      queues: () => Effect.succeed({ pausedAt: undefined, webhooks: [queue] }),
      pause: (_, endpointId) => (endpointId === "whk_2" ? Effect.fail(noSuchEndpoint) : Effect.void),
      drop: (_, endpointId) => (endpointId === "whk_2" ? Effect.fail(noSuchEndpoint) : Effect.succeed(7))
    }),
    Layer.mock(BillingBooks, {
      account: (id) => Effect.succeed(id === account.id ? billed : undefined),
      orders: () => Effect.succeed([packOrder]),
      unblock: (id) => Effect.succeed(id === account.id)
    }),
    audit,
    StoreClock.own,
    AppConfig.layerTest({ quarryOperator: "ada" })
  )

/** A webhook whose receiver fails, and that the operator has paused. */
const queue: EndpointQueue = {
  endpoint: {
    id: "whk_1",
    accountId: "acc_1",
    url: "https://example.com/hook",
    types: [],
    createdAt: 0,
    failingSince: 1000,
    disabledAt: undefined,
    disabledFor: undefined
  },
  pausedAt: 2000,
  queued: 12,
  failed: 3
}

/** An account that pays, with a cancellation, a blocked purchase and a pack that was refunded after it was spent. */
const billed = {
  customerId: "cus_1",
  blockedAt: 1000,
  subscriptions: [
    {
      id: "sub_1",
      plan: "growth" as const,
      status: "active" as const,
      period: { start: Date.UTC(2026, 0, 31), end: Date.UTC(2026, 1, 28) },
      startedAt: Date.UTC(2026, 0, 31),
      cancelAtPeriodEnd: true,
      pending: undefined,
      pastDueAt: undefined,
      modifiedAt: 0
    }
  ],
  balance: 0,
  owed: 34
}

const packOrder = {
  id: "order_1",
  accountId: "acc_1",
  kind: "pack" as const,
  status: "paid" as const,
  netCents: 800,
  refundedCents: 400,
  granted: 10_000,
  takenBack: 5_000,
  isDisputeLost: false,
  createdAt: 0
}

const drift: Drift = { kind: "order", accountId: "acc_1", objectId: "order_1" }

/** What a reconciliation finds; without it the provider is down. */
const reconciler = (drifts?: ReadonlyArray<Drift>) => {
  const outcome =
    drifts === undefined
      ? Effect.fail(new ProviderUnavailable({ reason: "no answer in 5 s", retryAfter: undefined }))
      : Effect.succeed(drifts)
  return Layer.mock(Reconciler, {
    sweep: () => outcome,
    bringAccount: (id) => (id === account.id ? outcome : unknown())
  })
}

const findings = [
  { subject: "token" as const, ok: true, message: "is accepted" },
  { subject: "webhooks" as const, ok: false, message: "is switched off: switch it on" }
]

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
    Layer.provideMerge(Layer.mergeAll(ProviderStates.layer, StandardSettings.layer, AppConfig.layerTest()))
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
  foundations: {
    readonly storage?: ReturnType<typeof storage>
    readonly external?: Layer.Layer<ExternalIndexes>
    readonly refusals?: ReadonlyArray<Refusal>
    readonly drifts?: ReadonlyArray<Drift>
  } = {}
) =>
  Effect.gen(function* () {
    const run = Quarry.make({
      settings: AppConfig.layerTest({ keyPepper: [Redacted.make("hunter2")] }),
      providers: providers(foundations.refusals ?? []),
      trials: Layer.effectContext(Effect.die(new Error("no command here needs it"))),
      database: Layer.effect(SqlClient.SqlClient, Effect.die(new Error("no command here needs it"))),
      backups: Layer.effect(Backups, Effect.die(new Error("no command here needs it"))),
      inspection: Layer.effectContext(Effect.die(new Error("no command here needs it"))),
      overview: Layer.effectContext(Effect.die(new Error("no command here needs it"))),
      secrets: Layer.merge(rotation, foundations.storage ?? storage([])),
      storage: foundations.storage ?? storage([]),
      mailing: Layer.merge(foundations.storage ?? storage([]), noMail),
      external: foundations.external ?? Layer.mock(ExternalIndexes, {}),
      crawling: Layer.effectContext(Effect.die(new Error("no test here crawls"))),
      reading: foundations.storage ?? storage([]),
      paymentProvider: Layer.mock(PaymentProvider, { check: Effect.succeed(findings) }),
      reconciler: Layer.merge(foundations.storage ?? storage([]), reconciler(foundations.drifts)),
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

const readOnly = new SqlError.SqlError({
  reason: new SqlError.UnknownError({
    cause: Object.assign(new Error("cannot execute INSERT in a read-only transaction"), { code: "25006" }),
    message: "",
    operation: "execute"
  })
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
        max_query_words: null,
        options: ["exclude_domains"]
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

describe("quarry billing", () => {
  it.effect("show prints subscriptions, orders and what is owed", () =>
    Effect.gen(function* () {
      const { code, out } = yield* quarry(words("billing show --account acc_1"))
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(out.join("\n").split("\n"), [
        "Account            acc_1",
        "Customer           cus_1",
        "Pack credits       0",
        "Owed credits       34",
        "Purchases blocked  1970-01-01T00:00:01.000Z",
        "",
        "SUBSCRIPTION  STATUS  PLAN    PERIOD                                              NEXT",
        "sub_1         active  growth  2026-01-31T00:00:00.000Z  2026-02-28T00:00:00.000Z  ends 2026-02-28T00:00:00.000Z",
        "",
        "ORDER    KIND  STATUS  MADE                      NET    REFUNDED  GRANTED  TAKEN BACK",
        "order_1  pack  paid    1970-01-01T00:00:00.000Z  $8.00  $4.00     10000    5000"
      ])
      const json = JSON.parse((yield* quarry(words("billing show --account acc_1 --json"))).out.join())
      assert.deepInclude(json, { account_id: "acc_1", customer_id: "cus_1", balance: 0, owed: 34 })
      assert.deepInclude(json.subscriptions[0], { id: "sub_1", plan: "growth", cancel_at_period_end: true })
      assert.deepInclude(json.orders[0], { id: "order_1", net_cents: 800, granted: 10_000, taken_back: 5_000 })
      const missing = yield* quarry(words("billing show --account acc_2"))
      assert.deepStrictEqual([missing.code, missing.err], [1, ["quarry: There is no account acc_2."]])
    })
  )

  it.effect("R37: reconcile repairs everything, or one account, and says what differed", () =>
    Effect.gen(function* () {
      for (const line of ["billing reconcile", "billing reconcile --account acc_1"]) {
        const { code, out } = yield* quarry(words(`${line} --json`), { drifts: [drift] })
        const repaired = [{ kind: "order", account_id: "acc_1", object_id: "order_1" }]
        assert.deepStrictEqual([code, JSON.parse(out.join())], [0, { repaired }])
      }
      const clean = yield* quarry(words("billing reconcile"), { drifts: [] })
      assert.include(clean.out.join(), "The books agree")
    })
  )

  it.effect("reconcile fails in one line if the provider is down", () =>
    Effect.gen(function* () {
      const { code, err } = yield* quarry(words("billing reconcile"))
      assert.strictEqual(code, 1)
      assert.deepStrictEqual(err, [
        "quarry: The payment provider did not answer: no answer in 5 s. Nothing is lost. Run the command again later."
      ])
    })
  )

  it.effect("check prints what is wrong at the provider, and fails", () =>
    Effect.gen(function* () {
      const { code, err, out } = yield* quarry(words("billing check"))
      assert.deepStrictEqual([code, err], [1, ["quarry: 1 of 2 checks failed."]])
      assert.deepStrictEqual(out.join("\n").split("\n").slice(1), [
        "token     ok      is accepted",
        "webhooks  wrong   is switched off: switch it on"
      ])
    })
  )

  it.effect("R40: unblock lets an account buy again, with a reason in the audit", () =>
    Effect.gen(function* () {
      const both = yield* Layer.build(storage([]))
      const foundations = { storage: Layer.succeedContext(both) }
      const { out } = yield* quarry(words("billing unblock --account acc_1 --reason paid --json"), foundations)
      assert.deepStrictEqual(JSON.parse(out.join()), { account_id: "acc_1", unblocked: true })
      const audit = yield* quarry(words("audit list --json"), foundations)
      const [entry] = JSON.parse(audit.out.join()).entries
      assert.deepInclude(entry, { command: "billing unblock", subject: "acc_1", arguments: { reason: "paid" } })
    })
  )
})

describe("quarry webhooks", () => {
  it.effect("R53: list prints what waits for each webhook, what failed, and whether it is paused", () =>
    Effect.gen(function* () {
      const { code, out } = yield* quarry(words("webhooks list --account acc_1"))
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(out.join("\n").split("\n"), [
        "WEBHOOK  QUEUED  FAILED  STATE   ADDRESS",
        "whk_1    12      3       paused  https://example.com/hook"
      ])
      const json = yield* quarry(words("webhooks list --account acc_1 --json"))
      assert.deepStrictEqual(JSON.parse(json.out.join()), {
        account_id: "acc_1",
        paused_at: null,
        webhooks: [
          {
            id: "whk_1",
            url: "https://example.com/hook",
            created_at: "1970-01-01T00:00:00.000Z",
            queued: 12,
            failed: 3,
            failing_since: "1970-01-01T00:00:01.000Z",
            disabled_at: null,
            disabled_reason: null,
            paused_at: "1970-01-01T00:00:02.000Z"
          }
        ]
      })
    })
  )

  it.effect.each([
    ["pause --account acc_1", { endpoint_id: null, paused: true }, {}],
    ["pause --account acc_1 --endpoint whk_1", { endpoint_id: "whk_1", paused: true }, { endpoint: "whk_1" }],
    ["resume --account acc_1", { endpoint_id: null, paused: false }, {}],
    ["drop --account acc_1", { endpoint_id: null, dropped: 7 }, { deliveries: 7 }],
    [
      "drop --account acc_1 --endpoint whk_1",
      { endpoint_id: "whk_1", dropped: 7 },
      { endpoint: "whk_1", deliveries: 7 }
    ]
  ] as const)("R53: %s says what it did, and the audit has it", ([line, printed, recorded]) =>
    Effect.gen(function* () {
      const both = yield* Layer.build(storage([]))
      const foundations = { storage: Layer.succeedContext(both) }
      const { code, out } = yield* quarry(words(`webhooks ${line} --json`), foundations)
      assert.deepStrictEqual([code, JSON.parse(out.join())], [0, { account_id: "acc_1", ...printed }])
      const audit = yield* quarry(words("audit list --json"), foundations)
      const [entry, ...more] = JSON.parse(audit.out.join()).entries
      const command = `webhooks ${line.split(" ", 1).join("")}`
      assert.deepInclude(entry, { operator: "ada", command, subject: "acc_1", arguments: recorded })
      assert.deepStrictEqual(more, [])
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
        quota_agreed: false,
        concurrency: 5,
        concurrency_agreed: false,
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
        quota_agreed: false,
        concurrency: 5,
        concurrency_agreed: false,
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
        totals: {
          searches: 3,
          credits: 3,
          outcomes: { ok: 2, upstream_error: 1, upstream_timeout: 0, page_unreadable: 0 }
        },
        series: [
          {
            start: "1970-01-01T00:00:00.000Z",
            group: "key_1",
            searches: 3,
            credits: 3,
            outcomes: { ok: 2, upstream_error: 1, upstream_timeout: 0, page_unreadable: 0 }
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
    [
      "account events --id acc_1 --type key",
      {
        events: [
          {
            id: "act_1",
            at: "1970-01-01T00:00:00.000Z",
            type: "key.created",
            actor: "operator",
            address: null,
            browser: null,
            changes: { name: "ci" }
          }
        ],
        next: "MS4y"
      }
    ],
    ["sessions end --account acc_1", { account_id: "acc_1", ended: 2 }],
    ["member list --account acc_1", { members: [memberJson(owner), memberJson(guest)] }],
    [
      "member add --account acc_1 --email new@example.com --role billing",
      {
        ...memberJson(guest),
        email: "new@example.com",
        role: "billing",
        link: "http://localhost:3000/oauth/join?token=t"
      }
    ],
    [
      "member role --account acc_1 --email GRACE@example.com --role developer",
      { ...memberJson(guest), role: "developer" }
    ],
    ["member remove --account acc_1 --email grace@example.com", memberJson(guest)],
    [
      "member bounds --account acc_1 --email grace@example.com --targets gamma_search,beta_search --budget 5",
      {
        ...memberJson(guest),
        targets: ["beta_search", "gamma_search"],
        budget: { credits: 5, period: "month", spent: 0 }
      }
    ],
    ["person reset-factors --email ada@example.com --reason lost", { person: "usr_1", emailed: false }],
    ["person resend-email --email grace@example.com", { confirmation: true, invitations: 1, emailed: false }],
    ["operator add --email ada@example.com --by ann", { ...operatorJson, role: "operator", by: "ann" }],
    ["operator add --email ada@example.com --role observer --by ann", { ...operatorJson, by: "ann" }],
    ["operator list", { operators: [{ ...operatorJson, by: "ann" }] }],
    ["operator remove --email ada@example.com", { ...operatorJson, by: "ann" }],
    ["replica forget rep_1", { id: "rep_1" }],
    [
      "providers pause --provider meta --engine bing --reason captchas",
      { provider: "meta", engine: "bing", by: "ada", reason: "captchas", since: "1970-01-01T00:00:00.000Z" }
    ],
    ["providers resume --provider meta", { resumed: [pauseJson] }],
    ["providers paused", { paused: [pauseJson] }],
    ["audit list", { entries: [], next: null }],
    ["account grant --id acc_1 --credits 10 --reason refund", { balance: 17 }],
    [
      "key create --account acc_1 --name ci --mode test",
      { id: "key_1", secret: "sk_test_secret", label: "ci", mode: "test" }
    ],
    ["key create --account acc_1 --name ci", { id: "key_1", secret: "sk_test_secret", label: "ci", mode: "live" }],
    ["key rotate --id key_1", { id: "key_1", secret: "sk_test_secret", label: "ci", mode: "test" }],
    [
      "key bounds --id key_1 --expires 2026-06-01 --budget 5 --budget-period day --targets gamma_search,beta_search --networks none",
      {
        id: "key_1",
        account_id: "acc_1",
        label: "ci",
        mode: "test",
        hint: key.hint,
        created_at: "1970-01-01T00:00:00.000Z",
        created_by: null,
        last_used_at: null,
        revoked_at: null,
        expires_at: "2026-06-01T00:00:00.000Z",
        budget: { credits: 5, period: "day", spent: 0 },
        targets: ["beta_search", "gamma_search"],
        networks: null
      }
    ],
    ["index stats", { documents: 3, by_target: { beta_search: 1 } }],
    ["index clear", { removed: 3 }],
    ["index remove --url https://a.example/", { removed: 6 }],
    ["index remove --site a.example", { removed: 0 }],
    ["index load data/starter-index.jsonl.gz", { loaded: 20_782, removed: 0, failed: 0, problems: [] }],
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
          err: [
            "quarry: The pack balance of account acc_1 is only 7, so 8 credits cannot be taken from it. Take 7 or less."
          ],
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
      assert.match(err.join(), /does not match its records/)
    })
  )
})

describe("quarry ledger verify --full", () => {
  it.effect("I6: reads every entry, and shows closed months that are not what their entries add up to", () =>
    Effect.gen(function* () {
      const { code, out } = yield* quarry(words("ledger verify --full --json"))
      assert.strictEqual(code, 1)
      assert.deepStrictEqual(JSON.parse(out.join()).discrepancies, [
        { account_id: "acc_2", what: "closed months of the ledger", expected: 3, found: 2 }
      ])
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
    [
      "member add --account acc_1 --email new@example.com --role billing",
      "acc_1",
      { member: "mem_2", role: "billing" }
    ],
    ["member role --account acc_1 --email grace@example.com --role owner", "acc_1", { member: "mem_2", role: "owner" }],
    ["member remove --account acc_1 --email grace@example.com", "acc_1", { member: "mem_2", role: "viewer" }],
    [
      "member bounds --account acc_1 --email grace@example.com --budget none",
      "acc_1",
      { member: "mem_2", budget: null }
    ],
    ["person reset-factors --email ada@example.com --reason lost", "usr_1", { reason: "lost" }],
    ["person resend-email --email grace@example.com", "usr_1", { confirmation: true, invitations: 1 }],
    ["operator add --email ada@example.com", "usr_1", { role: "operator" }],
    ["operator remove --email ada@example.com", "usr_1", { role: "observer" }],
    ["index remove --site a.example --target beta_search", null, { site: "a.example", target: "beta_search" }],
    ["replica forget rep_1", "rep_1", {}],
    ["providers pause --provider meta --reason captchas", null, { provider: "meta", reason: "captchas" }],
    ["providers resume --provider meta --engine bing", null, { provider: "meta", engine: "bing" }],
    ["key create --account acc_1 --name ci", "key_1", { account: "acc_1", mode: "live" }],
    ["key rotate --id key_1", "key_1", { account: "acc_1", new_key: "key_1" }],
    ["key rotate --id key_1 --grace-seconds 60", "key_1", { account: "acc_1", new_key: "key_1", grace_seconds: 60 }],
    ["key bounds --id key_1 --budget none", "key_1", { account: "acc_1", budget: null }],
    ["key revoke --id key_1", "key_1", { account: "acc_1" }],
    ["key revoke --all --account acc_1 --yes", "acc_1", { keys: 1 }],
    ["index load data/starter-index.jsonl.gz", null, { source: resolve("data/starter-index.jsonl.gz") }],
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

describe("quarry index load", () => {
  const line = (n: number) => JSON.stringify({ url: `https://a.example/${n}`, title: `${n}`, description: "" })

  /** Runs `index load` on a file with these lines. What the index was given, and what the command printed. */
  const load = Effect.fnUntraced(function* (lines: ReadonlyArray<string>, flags: ReadonlyArray<string>, indexed = 10) {
    const files = yield* FileSystem.FileSystem
    const path = `${yield* files.makeTempDirectoryScoped()}/a.jsonl`
    yield* files.writeFileString(path, lines.join("\n"))
    const loads: Array<{ readonly urls: ReadonlyArray<string>; readonly replace: false | Replacement }> = []
    const index = Layer.mock(DocumentIndex, {
      compare: (documents) => Effect.as(Stream.runDrain(documents), { documents: indexed, removed: 2 }),
      load: (documents, { replace }) =>
        Effect.map(Stream.runCollect(documents), (all) => {
          loads.push({ urls: all.map(({ url }) => url.slice("https://a.example/".length)), replace })
          return { written: all.length, removed: replace ? 2 : 0 }
        })
    })
    const printed = yield* quarry(["index", "load", path, ...flags], { storage: Layer.merge(storage([]), index) })
    return { loads, ...printed, err: printed.err.map((text) => text.replaceAll(path, "a.jsonl")) }
  }, Effect.provide(NodeServices.layer))

  it.effect("loads into the index of a provider, and fails if its engine rejects a document", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const path = `${yield* files.makeTempDirectoryScoped()}/a.jsonl`
      yield* files.writeFileString(path, [line(1), line(2)].join("\n"))
      const external = Layer.mock(ExternalIndexes, {
        load: (provider, documents) =>
          Effect.flatMap(Stream.runCollect(documents), (all) =>
            provider === "engine"
              ? Effect.succeed({
                  written: all.length - 1,
                  rejected: 1,
                  problems: [{ url: "https://a.example/2", problem: "mapper: no" }],
                  isNew: true
                })
              : Effect.fail(new ExternalIndexFailed({ message: `There is no ${provider}.` }))
          )
      })
      const run = (...flags: ReadonlyArray<string>) => quarry(["index", "load", path, ...flags], { external })
      assert.deepStrictEqual(yield* run("--provider", "engine"), {
        code: 1,
        out: ["Loaded 1 document."],
        err: ["https://a.example/2: mapper: no", "quarry: 1 could not be loaded."]
      })
      assert.deepStrictEqual((yield* run("--provider", "other")).err, ["quarry: There is no other."])
      const replacing = yield* run("--provider", "engine", "--replace")
      assert.match(replacing.err[0] ?? "", /--replace works only on the built-in index/)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("say when starter documents are still missing", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const dataDir = yield* files.makeTempDirectoryScoped()
      yield* files.writeFileString(`${dataDir}/starter-index.unfinished`, "")
      const run = (...flags: ReadonlyArray<string>) =>
        quarry(["index", "stats", ...flags], { storage: Layer.merge(storage([]), AppConfig.layerTest({ dataDir })) })
      const json = yield* run("--json")
      assert.deepStrictEqual(JSON.parse(json.out.join("")), {
        documents: 3,
        by_target: { beta_search: 1 },
        starter_documents: "unfinished"
      })
      assert.match((yield* run()).out.join("\n"), /Only some of the starter documents are loaded\./)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("loads the rest when a line is not a document, names the line, and fails", () =>
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
      assert.deepStrictEqual({ code, loads }, { code: 0, loads: [{ urls: ["1"], replace: { under: undefined } }] })
      assert.deepStrictEqual(out, ["Loaded 1 document.\nRemoved 2 documents that the source does not have."])
    })
  )

  it.effect("--replace does not remove more than a fifth of the index without --yes", () =>
    Effect.gen(function* () {
      const refused = yield* load([line(1)], ["--replace"], 9)
      assert.deepStrictEqual(
        { code: refused.code, loads: refused.loads, err: refused.err },
        {
          code: 1,
          loads: [],
          err: [
            "quarry: This would remove 2 documents of the 9 in the index, more than 20 %. Repeat the command with --yes to do it."
          ]
        }
      )
      const done = yield* load([line(1)], ["--replace", "--yes"], 9)
      assert.deepStrictEqual([done.code, done.loads.length], [0, 1])
    })
  )

  it.effect("--dry-run says what would be loaded and removed, and loads nothing", () =>
    Effect.gen(function* () {
      const { code, loads, out } = yield* load([line(1)], ["--replace", "--dry-run"], 2)
      assert.deepStrictEqual({ code, loads }, { code: 0, loads: [] })
      assert.deepStrictEqual(out, ["Would load 1 document.\nWould remove 2 documents that the source does not have."])
      const json = yield* load([line(1), "{"], ["--replace", "--dry-run", "--json"], 2)
      assert.deepStrictEqual(json.loads, [])
      assert.include(JSON.parse(json.out.join()), { loaded: 1, removed: 0, failed: 1, dry_run: true })
      assert.strictEqual(json.code, 1)
    })
  )

  it.effect("--replace removes nothing when a document is broken, because it has not vanished", () =>
    Effect.gen(function* () {
      const { code, err, loads } = yield* load([line(1), "{"], ["--replace"])
      assert.deepStrictEqual({ code, loads }, { code: 1, loads: [{ urls: ["1"], replace: false }] })
      assert.match(err.at(-1) ?? "", /^quarry: 1 could not be loaded\. Nothing was removed/)
    })
  )

  it.effect("--replace with an empty file removes nothing: `index clear` does that", () =>
    Effect.gen(function* () {
      const { code, err, loads } = yield* load([], ["--replace"])
      assert.deepStrictEqual({ code, loads }, { code: 1, loads: [] })
      assert.match(err.join(), /^quarry: The source has no documents, so nothing was removed\./)
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
      const unused = Layer.effectContext(Effect.die(new Error("no command here needs it")))
      const run = Quarry.make({
        settings: AppConfig.layerTest(),
        database: unused,
        backups: unused,
        crawling: unused,
        providers: unused,
        trials: unused,
        inspection: unused,
        overview: unused,
        paymentProvider: unused,
        reconciler: unused,
        secrets: unused,
        exportAccount: () => Effect.die(new Error("no command here needs it")),
        reading: unused,
        storage: Layer.merge(storage([]), index),
        mailing: unused,
        external: Layer.mock(ExternalIndexes, {})
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

describe("quarry retention", () => {
  it.effect("R74: shows the months of the log and the moment from which each is dropped", () =>
    Effect.gen(function* () {
      const shown = JSON.parse((yield* quarry(words("retention show --json"))).out.join())
      assert.strictEqual(shown.retention_days, 90)
      assert.deepStrictEqual(
        shown.months.map((it: Record<string, unknown>) => [it.month, it.searches, it.dropped_at]),
        [
          ["2026-02", 1_000, "2026-05-30T00:00:00.000Z"],
          ["2026-03", 1_000, "2026-06-30T00:00:00.000Z"],
          ["2026-04", 1_000, "2026-07-30T00:00:00.000Z"],
          ["2026-05", 1_000, "2026-08-30T00:00:00.000Z"],
          ["2026-06", null, "2026-09-29T00:00:00.000Z"]
        ]
      )
      assert.match((yield* quarry(words("retention show"))).out.join("\n"), /kept for 90 days.*\n2026-05 +1000 +3 MiB/s)
    })
  )

  it.effect("R74: a longer retention is set at once, a shorter one with --yes alone", () =>
    Effect.gen(function* () {
      const foundations = { storage: Layer.succeedContext(yield* Layer.build(storage([]))) }
      const set = (...args: ReadonlyArray<string>) => quarry(["retention", "set", ...args, "--json"], foundations)
      const longer = yield* set("365 days")
      assert.deepInclude(JSON.parse(longer.out.join()), { retention_days: 365, months_to_drop: [] })
      const shorter = yield* set("30 days")
      assert.strictEqual(shorter.code, 1)
      assert.match(shorter.err.join(), /^quarry: This drops the 3 months from 2026-02 to 2026-04 .*--yes/)
      const confirmed = yield* set("30 days", "--yes")
      assert.deepStrictEqual(JSON.parse(confirmed.out.join()), {
        retention_days: 30,
        previous_days: 90,
        months_to_drop: ["2026-02", "2026-03", "2026-04"]
      })
      const audit = yield* quarry(words("audit list --json"), foundations)
      const { entries } = JSON.parse(audit.out.join())
      assert.strictEqual(entries.length, 2)
      assert.deepInclude(entries[0], {
        command: "retention set",
        operator: "ada",
        arguments: { retention_days: 30, previous_days: 90 }
      })
    })
  )

  it.effect.each(["1 hour", "4000 days", "soon"])("a retention of %s is a mistake in the command line", (text) =>
    Effect.gen(function* () {
      const { code, err } = yield* quarry(["retention", "set", text])
      assert.strictEqual(code, 2)
      assert.match(err.join("\n"), /a duration from 1 day to 3650 days, such as 90 days/)
    })
  )
})

describe("quarry", () => {
  it.effect.each([
    ["account show --id acc_2", "not_found", /^There is no such thing\.$/],
    ["account create --email a@b.example --plan custom", "account_error", /^custom needs a quota$/],
    ["account delete --id acc_1", "command_failed", /^This deletes acc_1 \(a@b\.example\) for good\. .*--yes/],
    ["account suspend --id acc_2 --reason abuse", "not_found", /^There is no such thing\.$/],
    ["key revoke --all --account acc_1", "command_failed", /^This revokes 1 key of acc_1\. .*--yes/],
    ["account usage --id acc_1 --from 2026-01-02 --to 2026-01-01", "command_failed", /must be before to/],
    ["key revoke --id key_2", "not_found", /^There is no such thing\.$/],
    [
      "key create --account acc_full --name ci",
      "command_failed",
      /^an account can have at most 50 active API keys; .+$/
    ],
    [
      "member bounds --account acc_1 --email grace@example.com --budget 0",
      "command_failed",
      /^budget\.credits must be a whole number from 1 to \d+$/
    ],
    ["key bounds --id key_1 --budget 0", "command_failed", /^budget\.credits must be a whole number from 1 to \d+$/],
    ["key bounds --id key_1 --networks 10.0.0.1/8", "command_failed", /^networks\.0 must be a network in CIDR form/],
    ["key list --account acc_2", "not_found", /^There is no such thing\.$/],
    ["webhooks list --account acc_2", "not_found", /^There is no such thing\.$/],
    ["replica forget rep_2", "command_failed", /^Replica rep_2 is running/],
    [
      "providers pause --provider meat --reason typo",
      "not_found",
      /^No replica has a provider meat\. They have: meta\/bing\.$/
    ],
    ["providers resume --provider brave", "not_found", /^brave is not paused\./],
    ["replica forget rep_3", "not_found", /^There is no replica rep_3\.$/],
    ["webhooks drop --account acc_2", "not_found", /^There is no such thing\.$/],
    ["webhooks pause --account acc_1 --endpoint whk_2", "not_found", /^The account has no webhook with this ID\.$/],
    ["webhooks drop --account acc_1 --endpoint whk_2", "not_found", /^The account has no webhook with this ID\.$/],
    [
      "index load docs",
      "command_failed",
      /^\S+docs is a folder, and its pages need addresses\. Say where it is published: --base-url [^\n]+$/
    ],
    [
      "index load package.json --base-url https://a.example",
      "command_failed",
      / already contains the addresses of its documents\. Remove --base-url and --folder/
    ]
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
    ["a database that is read-only", "unavailable", readOnly, /^The database takes no writes: .*DATABASE_URL/],
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
    "key bounds --id key_1",
    "key rotate --id key_1 --grace-seconds 86401",
    "key list --all --account acc_1",
    "key revoke",
    "key revoke key_1",
    "key revoke --all",
    "key revoke --account acc_1 --yes",
    "key revoke --all --account acc_1 --id key_1 --yes",
    "billing show",
    "billing unblock --account acc_1",
    "webhooks list",
    "webhooks drop --endpoint whk_1",
    "index load",
    "index load nowhere.jsonl",
    "index load docs --base-url docs.example.org",
    "index load docs --base-url ftp://docs.example.org",
    "index load docs/sitemap.xml --folder nowhere",
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
      assert.notInclude(plain.err.join() + message, "Schema")
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
