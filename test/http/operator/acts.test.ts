import "../../support/accounts/cheapPasswords.ts"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { TestConsole } from "effect/testing"
import { codeOf } from "../../../src/cli/exit.ts"
import * as Quarry from "../../../src/cli/Quarry.ts"
import { type Act, type ActName, actNames, readOnlyActs } from "../../../src/domain/operations/acts.ts"
import { commandLine } from "../../../src/domain/operations/commandLine.ts"
import { Members } from "../../../src/services/accounts/Members.ts"
import { DocumentIndex } from "../../../src/services/index/DocumentIndex.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { Audit } from "../../../src/services/operations/Audit.ts"
import { EventBooks } from "../../../src/services/webhooks/EventBooks.ts"
import { AppConfig } from "../../../src/settings/Settings.ts"
import { addSecondFactor, consoleServices, makeConsoleUser } from "../../support/accounts/consoleServices.ts"
import { baseUrl, makePerson } from "../../support/accounts/memberServices.ts"
import { makeEmail } from "../../support/api/searches.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import { shellWords } from "../../support/shellWords.ts"

/** An account with all that an act can be about. */
const makeSubject = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { account, personId } = (yield* Effect.tap(makePerson, ({ principal }) => addSecondFactor(principal.personId)))
    .principal
  const members = yield* Members
  const guest = yield* makeEmail
  const { member } = yield* members.invite(account, guest, "viewer")
  const { key } = yield* Effect.flatMap(KeyStore, (keys) => keys.create(account.id, { label: "k", mode: "live" }))
  const books = yield* EventBooks
  const endpoint = yield* books.addEndpoint(account.id, {
    id: `whk_${account.id.slice(4)}`,
    url: "https://hooks.example.com/",
    types: ["key.created"],
    secret: Redacted.make("whsec_test")
  })
  yield* books.addTest(account.id, endpoint.id)
  const replica = `rep_${account.id.slice(4)}`
  yield* sql`
    insert into replicas (id, host, version, started_at, seen_at, skew_ms, vitals)
    values (${replica}, 'h', '0', now(), now() - interval '1 minute', 0, '{}')`
  const site = `https://${account.id.slice(4)}.example.org/`
  const document = (url: string) => ({ url, title: "A page", description: "A page" })
  const index = yield* DocumentIndex
  yield* index.load(Stream.make(document(`${site}a`), document(`${site}b`)), { target: undefined, replace: false })
  yield* index.load(Stream.make(document(`${site}a`)), { target: "beta_search", replace: false })
  const newEmail = yield* makeEmail
  return { account, guest, newEmail, member, key, endpoint, replica, site, personId }
})
type Subject = Effect.Success<typeof makeSubject>

const idOf = ({ account }: Subject) => ({ id: account.id })
const accountOf = ({ account }: Subject) => ({ account: account.id })
const queueOf = ({ account, endpoint }: Subject) => ({ account: account.id, endpoint: endpoint.id })
const reason = "it's a test"

/** An act for each command with a button. One suspends the account, so that the next has something to do. */
const acts: { readonly [Name in ActName]: (subject: Subject) => Act } = {
  "account suspend": (it) => ({ command: "account suspend", ...idOf(it), reason }),
  "account resume": (it) => ({ command: "account resume", ...idOf(it), reason }),
  "account adjust": (it) => ({ command: "account adjust", ...idOf(it), credits: 7, to: "balance", reason }),
  "account grant": (it) => ({ command: "account grant", ...idOf(it), credits: 500, reason }),
  "account set-plan": (it) => ({
    command: "account set-plan",
    ...idOf(it),
    plan: "growth",
    quota: 9_000,
    cycle_start: "2026-01-31"
  }),
  "account set-email": (it) => ({ command: "account set-email", ...idOf(it), email: it.newEmail }),
  "account delete": (it) => ({ command: "account delete", ...idOf(it), yes: true }),
  "sessions end": (it) => ({ command: "sessions end", ...accountOf(it) }),
  "person reset-factors": (it) => ({ command: "person reset-factors", email: it.account.email, reason }),
  "person resend-email": (it) => ({ command: "person resend-email", email: it.guest }),
  "key revoke": (it) => ({ command: "key revoke", id: it.key.id }),
  "member role": (it) => ({ command: "member role", ...accountOf(it), email: it.guest, role: "developer" }),
  "member remove": (it) => ({ command: "member remove", ...accountOf(it), email: it.guest }),
  "webhooks pause": (it) => ({ command: "webhooks pause", ...queueOf(it) }),
  "webhooks resume": (it) => ({ command: "webhooks resume", ...queueOf(it) }),
  "webhooks drop": (it) => ({ command: "webhooks drop", ...queueOf(it) }),
  "replica forget": (it) => ({ command: "replica forget", id: it.replica }),
  "providers check": () => ({ command: "providers check" }),
  "providers pause": (it) => ({ command: "providers pause", provider: it.replica, engine: "google", reason }),
  "providers resume": (it) => ({ command: "providers resume", provider: it.replica }),
  "ledger verify": () => ({ command: "ledger verify", full: true }),
  "index remove": (it) => ({ command: "index remove", site: it.site })
}

/** Acts whose subject another act has to prepare. */
const before: { readonly [Name in ActName]?: ActName } = {
  "account resume": "account suspend",
  "webhooks resume": "webhooks pause",
  "providers resume": "providers pause"
}

/** Replaces what differs between two subjects: names, secrets and times. */
const alike = (subject: Subject, text: string): string => {
  const { account, endpoint, guest, key, member, newEmail, personId, replica } = subject
  const names = { account: account.id, guest, newEmail, email: account.email, personId, replica, endpoint: endpoint.id }
  const all = Object.entries({ ...names, key: key.id, hint: key.hint, member: member.id, bare: account.id.slice(4) })
  return all
    .reduce((changed, [name, value]) => changed.replaceAll(value, `<${name}>`), text)
    .replaceAll(/"by":"[^"]*"/g, '"by":"<operator>"')
    .replaceAll(/"digest":"[^"]*"/g, '"digest":"<digest>"')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)/g, "<time>")
}

/** What the database holds of the subject. */
const stateOf = Effect.fnUntraced(function* ({ account, endpoint, personId, replica, site }: Subject) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* Effect.all({
    accounts: sql`select to_jsonb(t) - 'ordinal' - 'allowance_id' as row from accounts t where id = ${account.id}`,
    wallets: sql`select to_jsonb(t) as row from wallets t where account_id = ${account.id}`,
    entries: sql`
      select jsonb_build_object('kind', kind, 'credits', balance_credits, 'reason', reason) as row
      from ledger_entries where account_id = ${account.id} order by id`,
    members: sql`
      select jsonb_build_object('role', role, 'email', email, 'digest', digest) as row
      from members where account_id = ${account.id} order by created_at`,
    people: sql`select jsonb_build_object('email', email) as row from auth_users where id = ${personId}`,
    sessions: sql`select 1 as row from auth_sessions where user_id = ${personId}`,
    factors: sql`select 1 as row from auth_passkeys where user_id = ${personId}`,
    keys: sql`select to_jsonb(revoked_at) as row from api_keys where account_id = ${account.id}`,
    endpoints: sql`select to_jsonb(paused_at) as row from webhook_endpoints where id = ${endpoint.id}`,
    deliveries: sql`
      select jsonb_build_object('status', status, 'error', error) as row
      from event_deliveries where endpoint_id = ${endpoint.id} order by ordinal`,
    replicas: sql`select 1 as row from replicas where id = ${replica}`,
    pauses: sql`
      select jsonb_build_object('engine', engine, 'reason', reason) as row
      from provider_pauses where provider = ${replica}`,
    documents: sql`select url as row from indexed_documents where starts_with(url, ${site}) order by url`
  })
  return JSON.stringify(tables)
})

/** The account's activity since the act began, as its owner sees it. */
const activityOf = Effect.fnUntraced(function* (subject: Subject, after: bigint) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`
    select type, actor, address, browser, changes from account_events
    where account_id = ${subject.account.id} and ordinal > ${after} order by ordinal`
  return JSON.parse(alike(subject, JSON.stringify(rows)))
})

const lastOrdinal = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly last: bigint }>`select coalesce(max(ordinal), 0) as last from account_events`
  return row?.last ?? 0n
})

const newestAudit = Effect.flatMap(Audit, (audit) =>
  audit.list({
    ...{ operator: undefined, command: undefined, subject: undefined, from: undefined, to: undefined },
    ...{ before: undefined, limit: 1 }
  })
)

/** Runs an act, and returns all that can be seen of it. */
const observed = Effect.fnUntraced(function* <E, R>(
  subject: Subject,
  name: ActName,
  run: (act: Act) => Effect.Effect<string, E, R>
) {
  const preparation = before[name]
  if (preparation !== undefined) yield* run(acts[preparation](subject))
  const ordinal = yield* lastOrdinal
  const [earlier] = yield* newestAudit
  const unchanged = yield* stateOf(subject)
  const result = JSON.parse(alike(subject, yield* run(acts[name](subject))))
  const after = yield* stateOf(subject)
  const [entry] = yield* newestAudit
  const isRecorded = entry !== undefined && entry.id !== earlier?.id
  const { at: _, id: __, operator, ...record } = entry ?? assert.fail("no audit entry at all")
  return {
    operator: isRecorded ? operator : undefined,
    seen: {
      result,
      record: isRecorded ? JSON.parse(alike(subject, JSON.stringify(record))) : undefined,
      activity: yield* activityOf(subject, ordinal),
      state: JSON.parse(alike(subject, after))
    },
    hasChanged: after !== unchanged
  }
})

type Services = Layer.Success<ReturnType<typeof consoleServices>>

const overCli = Effect.fnUntraced(
  function* (act: Act) {
    const services = yield* Effect.context<Services>()
    const given = Layer.merge(Layer.succeedContext(services), AppConfig.layerTest({ quarryOperator: "shell", baseUrl }))
    const unused = Layer.effectContext(Effect.die(new Error("no act needs it")))
    const run = Quarry.make({
      ...{ settings: given, database: given, providers: given, storage: given, mailing: given, reading: given },
      ...{ backups: unused, trials: unused, inspection: unused, overview: unused, secrets: unused, external: unused },
      ...{ crawling: unused, paymentProvider: unused, reconciler: unused },
      exportAccount: () => Effect.die(new Error("no act exports"))
    })
    const earlier = (yield* TestConsole.logLines).length
    const [, ...words] = shellWords(commandLine(act))
    const exit = yield* Effect.exit(run([...words, "--json"]))
    const lines = (yield* TestConsole.logLines).slice(earlier).map(String)
    assert.strictEqual(codeOf(exit), 0, lines.join("\n"))
    return lines.join("\n")
  },
  Effect.provide([TestConsole.layer, NodeServices.layer])
)

layer(consoleServices(), { timeout: "120 seconds" })("R87: a button", (it) => {
  it.effect.each(actNames)("does what its command does, and leaves the same record: %s", (name) =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const user = yield* makeConsoleUser("operator")
      const headers = { origin: baseUrl, cookie: user.cookie, "content-type": "application/json" }
      const overHttp = (act: Act) =>
        Effect.gen(function* () {
          const answer = yield* api.send("POST", "/v1/operator/acts", { headers, body: JSON.stringify(act) })
          assert.strictEqual(answer.status, 200, answer.text)
          return answer.text
        })
      const button = yield* observed(yield* makeSubject, name, overHttp)
      const command = yield* observed(yield* makeSubject, name, overCli)
      assert.deepStrictEqual(button.seen, command.seen)
      const isRecorded = !readOnlyActs.has(name)
      assert.deepStrictEqual(
        [button.operator, command.operator],
        isRecorded ? [user.email, "shell"] : [undefined, undefined]
      )
      assert.deepStrictEqual([button.hasChanged, command.hasChanged], [isRecorded, isRecorded])
      for (const { actor, address, browser } of button.seen.activity) {
        assert.deepStrictEqual([actor, address, browser], ["operator", null, null])
      }
    })
  )
})
