import { rmSync, writeFileSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Redacted, Ref, Schedule } from "effect"
import { copyWith } from "../../simulation/mutations/mutations.ts"
import * as Engine from "../../torture/support/Engine.ts"
import type { Site } from "./Site.ts"

/** A task of an ordinary day, done while customers search. */
export interface Task {
  readonly name: string
  /** The commands and the changes of the operator. Fails where the task did not have its effect. Returns notes. */
  readonly run: (site: Site) => Effect.Effect<ReadonlyArray<string>, unknown>
}

const check = (isRight: boolean, message: string) => (isRight ? Effect.void : Effect.fail(new Error(message)))

/** Replicas remember a key and its account for a few seconds. */
const soon = { schedule: Schedule.spaced("250 millis"), times: 40 } as const

const secret = (name: string) => `${name} of the drill of 32 characters or more`

const fourth = "127.0.0.4"
const copyOfStore = "127.0.0.5"

const addReplica: Task = {
  name: "Add a replica, and take it away again",
  run: Effect.fnUntraced(function* (site: Site) {
    const replica = yield* site.start(fourth)
    yield* check((yield* site.call(replica.url, "/v1/me", site.subject.secret)).status === 200, "it does not answer")
    // Its first heartbeats come before it listens, and `status` fails while any replica reports a problem.
    yield* Effect.retry(
      Effect.flatMap(site.quarry(["status"]), (status) => check(status.includes(fourth), status)),
      soon
    )
    replica.signal("SIGTERM")
    yield* check((yield* replica.ended) === 0, "it did not end in order")
    return []
  })
}

/** Two replacements of all replicas: one with both values of each secret, one with the new values alone. */
const rotateSecrets: Task = {
  name: "Rotate KEY_PEPPER, AUTH_SECRET and the passwords of Postgres and Redis",
  run: Effect.fnUntraced(function* (site: Site) {
    const before = yield* Ref.get(site.settings)
    const next = { KEY_PEPPER: secret("The next pepper"), AUTH_SECRET: secret("The next secret") }
    yield* site.store.sql`create role quarry_2 login password 'NEW' in role postgres`
    yield* site.store.sql`alter role quarry_2 set role postgres`
    const database = new URL(Redacted.value(site.database.url))
    database.username = "quarry_2"
    yield* Effect.promise(() => site.redis.cli("acl", "setuser", "default", ">NEW"))
    const redis = new URL(Redacted.value(site.redis.url()))
    redis.password = "NEW"
    yield* site.change({
      KEY_PEPPER: `${next.KEY_PEPPER},${before.KEY_PEPPER}`,
      AUTH_SECRET: `${next.AUTH_SECRET},${before.AUTH_SECRET}`,
      DATABASE_URL: database.href,
      REDIS_URL: redis.href
    })
    yield* site.roll()
    yield* site.quarry(["secrets", "rotate"])
    // Keys leave the old value when they are used, and nobody uses that of the subject.
    yield* site.quarry(["secrets", "finish"]).pipe(
      Effect.tapError(() => site.call(site.url, "/v1/me", site.subject.secret)),
      Effect.retry({ schedule: Schedule.spaced("3 seconds"), times: 20 })
    )
    yield* site.change(next)
    yield* site.roll()
    yield* Effect.promise(() => site.redis.cli("acl", "setuser", "default", "resetpass", ">NEW"))
    const status = yield* site.quarry(["secrets", "status"])
    yield* check(!status.includes("rotating"), status)
    return []
  })
}

const suspend: Task = {
  name: "Suspend an account, and let it in again",
  run: Effect.fnUntraced(function* (site: Site) {
    const { accountId, secret } = site.subject
    const answers = (status: number) =>
      Effect.repeat(site.call(site.url, "/v1/me", secret), { ...soon, until: (it) => it.status === status }).pipe(
        Effect.flatMap((it) => check(it.status === status, `${it.status}, not ${status}`))
      )
    yield* site.quarry(["account", "suspend", "--id", accountId, "--reason", "drill"])
    yield* answers(401)
    yield* site.quarry(["account", "resume", "--id", accountId])
    yield* answers(200)
    return []
  })
}

const adjust: Task = {
  name: "Correct an account's credits by 25",
  run: Effect.fnUntraced(function* (site: Site) {
    const { accountId, secret } = site.subject
    const before = yield* site.me(site.url, secret)
    const reason = ["--to", "balance", "--reason", "drill"]
    yield* site.quarry(["ledger", "adjust", "--account", accountId, "--credits", "25", ...reason])
    const after = yield* site.me(site.url, secret)
    const gained = after.credits_available - before.credits_available
    yield* check(gained === 25, `${gained} credits more, not 25`)
    return []
  })
}

const changePlan: Task = {
  name: "Change an account's plan",
  run: Effect.fnUntraced(function* (site: Site) {
    const { accountId, secret } = site.subject
    yield* site.quarry(["account", "set-plan", "--id", accountId, "--plan", "business"])
    const { plan } = yield* Effect.repeat(site.me(site.url, secret), { ...soon, until: (it) => it.plan === "business" })
    yield* check(plan === "business", plan)
    return []
  })
}

const addProvider: Task = {
  name: "Add a provider",
  run: Effect.fnUntraced(
    function* (site: Site) {
      const other = yield* Engine.start
      const providers = {
        first: { type: "searxng", url: site.deployment.engine },
        second: { type: "searxng", url: other }
      }
      const targets = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"].map((name) => [
        `${name}_search`,
        [{ provider: "second" }, { provider: "first" }]
      ])
      const file = yield* site.write(
        "providers.json",
        JSON.stringify({ providers, targets: Object.fromEntries(targets) })
      )
      const before = yield* Ref.get(site.settings)
      yield* site.change({ QUARRY_PROVIDERS: file })
      yield* site.quarry(["providers", "check"])
      yield* site.roll()
      // The second engine ends with this task.
      yield* Ref.set(site.settings, before)
      yield* site.roll()
      return ["and remove it again"]
    },
    (effect) => Effect.scoped(effect)
  )
}

const drain: Task = {
  name: "Drain each replica for a restart",
  run: (site) => Effect.as(site.roll(), [])
}

/** Another migration, which adds a column, in a copy of the sources. */
const nextVersion = {
  name: "a version with a further migration",
  file: "src/layers/sql/Migrations.ts",
  from: "const migrations: Readonly<Record<string, Migration>> = {",
  to: `const migrations: Readonly<Record<string, Migration>> = {
  "9000_note": Effect.flatMap(SqlClient.SqlClient, (sql) => sql\`alter table accounts add column note text\`),`
}

const upgrade: Task = {
  name: "Upgrade to a version with a further migration, and roll back",
  run: (site) =>
    Effect.acquireUseRelease(
      Effect.sync(() => copyWith(nextVersion, ["src", "data"])),
      Effect.fnUntraced(function* (version) {
        yield* site.roll(version)
        const columns = yield* site.store.sql`
          select from information_schema.columns where table_name = 'accounts' and column_name = 'note'`
        yield* check(columns.length === 1, "the new version did not migrate")
        yield* site.roll()
        return []
      }),
      (version) => Effect.sync(() => rmSync(version, { recursive: true }))
    )
}

const backUp: Task = {
  name: "Back up, restore into another database, and start a server on it",
  run: Effect.fnUntraced(function* (site: Site) {
    const file = join(site.directory, "quarry.backup")
    yield* site.quarry(["backup", file])
    yield* site.quarry(["restore", "--check", file])
    yield* site.store.sql`create database restored`
    const copy = new URL(Redacted.value(site.database.url))
    copy.pathname = "/restored"
    yield* site.quarry(["restore", file], { DATABASE_URL: copy.href })
    yield* site.quarry(["ledger", "verify"], { DATABASE_URL: copy.href })
    const before = yield* Ref.get(site.settings)
    yield* site.change({ DATABASE_URL: copy.href, QUARRY_BACKGROUND: "off" })
    const replica = yield* site.start(copyOfStore)
    yield* Ref.set(site.settings, before)
    const { status } = yield* site.call(replica.url, "/v1/me", site.subject.secret)
    yield* check(status === 200, `the copy answers ${status}`)
    replica.signal("SIGTERM")
    yield* replica.ended
    return []
  })
}

const changeRetention: Task = {
  name: "Change the retention of the query log",
  run: Effect.fnUntraced(function* (site: Site) {
    yield* site.quarry(["retention", "set", "400 days", "--yes"])
    yield* site.quarry(["retention", "set", "90 days", "--yes"])
    const shown = yield* site.quarry(["retention", "show"])
    yield* check(shown.includes("90 days"), shown)
    return []
  })
}

const reloadIndex: Task = {
  name: "Load an index, and load it again without one of its pages",
  run: Effect.fnUntraced(function* (site: Site) {
    const folder = join(site.directory, "site")
    yield* Effect.promise(() => mkdir(folder))
    const pages = Array.from({ length: 200 }, (_, n) => join(folder, `${n}.md`))
    for (const [n, page] of pages.entries()) writeFileSync(page, `# Page ${n}\n\nThe text of page ${n}.\n`)
    const load = ["index", "load", folder, "--base-url", "https://site.test", "--replace"]
    yield* site.quarry(load)
    rmSync(pages[0] ?? "")
    yield* site.quarry(load)
    const [row] = yield* site.store.sql<{ readonly n: number }>`
      select count(distinct url)::int as n from indexed_documents`
    yield* check(row?.n === pages.length - 1, `${row?.n} pages are left`)
    return []
  })
}

export const tasks: ReadonlyArray<Task> = [
  addReplica,
  rotateSecrets,
  suspend,
  adjust,
  changePlan,
  addProvider,
  drain,
  backUp,
  changeRetention,
  reloadIndex,
  // The last one: commands of a version refuse the schema of a later one, which a roll-back keeps.
  upgrade
]
