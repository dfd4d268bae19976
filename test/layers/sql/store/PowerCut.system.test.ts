// First, because it watches functions that later modules keep.
import "../../../support/crash/Recording.ts"
import { existsSync, mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Console, Effect, Exit, FileSystem, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { Account } from "../../../../src/domain/accounts/Account.ts"
import { isMade } from "../../../../src/layers/sql/store/DirectoryLock.ts"
import type { SecretValues } from "../../../../src/process/secrets/Secrets.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { Backups } from "../../../../src/services/operations/Backups.ts"
import { baseAt, type Cut, emptyBase, type Kept, Place, writeState } from "../../../support/crash/PowerCut.ts"
import { type Answer, type Operation, record } from "../../../support/crash/Recording.ts"
import { backupIn, migrate, secretsOf, storage, storeIn, useAll } from "../../../support/crash/Workloads.ts"
import { temporaryDirectoryIn } from "../../../support/processes/Spawned.ts"
import { storesParent } from "../../../support/stores/Template.ts"

/** `POWER_CUTS=1000 npx vitest run` on this file tries more states and counts them, `POWER_CUT_SEED` others. */
const chosen = process.env.POWER_CUTS
const states = Number(chosen ?? 16)
const seed = Number(process.env.POWER_CUT_SEED ?? 1)
const timeout = 600_000 + states * 30_000

/** How many states are opened with syncs, as a server does. They change nothing about what is read, and take time. */
const syncedShare = 0.05

/** Mulberry32: the same states for the same seed. */
const randomFrom = (start: number) => {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const recorded = Effect.gen(function* () {
  const root = yield* temporaryDirectoryIn(storesParent())
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const recording = yield* record(root)
      const used = yield* useAll(root, recording)
      return { ...used, operations: [...recording.operations] }
    })
  )
})

type Recorded = Effect.Success<typeof recorded>

const missing = (promised: ReadonlyArray<string>, found: ReadonlyArray<string>) =>
  promised.filter((id) => !found.includes(id))

/** A file under the name of a backup is whole, whether or not the command had ended. */
const checkBackup = Effect.fnUntraced(function* (root: string, answers: ReadonlyArray<Answer>) {
  const files = yield* FileSystem.FileSystem
  const isThere = existsSync(backupIn(root))
  if (answers.some((it) => it.of === "backup")) assert.isTrue(isThere)
  if (isThere) yield* Effect.flatMap(Backups, (backups) => backups.check(files.stream(backupIn(root))))
})

/** I4, I5: each answered search is charged and logged once. */
const checkSearches = Effect.fnUntraced(function* (account: Account, ids: ReadonlyArray<string>) {
  const ledger = yield* Ledger
  const sql = yield* SqlClient.SqlClient
  const logged = (yield* sql<{ readonly id: string }>`select id from queries`).map(({ id }) => id)
  assert.deepStrictEqual(missing(ids, logged), [])
  assert.strictEqual(new Set(logged).size, logged.length)
  assert.deepStrictEqual(yield* ledger.verifyFully, [])
  if (ids.length === 0) return
  yield* sql`update holds set expires_at = clock_timestamp()`
  yield* ledger.sweep
  assert.deepInclude(yield* ledger.allowance(account), { used: logged.length })
})

const checkOthers = Effect.fnUntraced(function* (answers: ReadonlyArray<Answer>, people: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const able = yield* sql<{ readonly email: string }>`
    select u.email from auth_users u join auth_identities i on i.user_id = u.id
    join members m on m.user_id = u.id join accounts a on a.id = m.account_id`
  assert.deepStrictEqual(
    missing(
      people,
      able.map(({ email }) => email)
    ),
    []
  )
  const [index] = yield* sql<{ readonly documents: number }>`
    select count(*)::integer as documents from indexed_documents`
  for (const it of answers) if (it.of === "documents") assert.strictEqual(index?.documents, it.count)
  // A migration that the cut undid runs again, as at the next start.
  const applied = yield* migrate
  if (answers.some((it) => it.of === "migration")) assert.deepStrictEqual(applied, [])
  yield* sql`select rewritten from queries`
})

const revealed = ({ authSecret, keyPepper }: SecretValues) => [...authSecret, ...keyPepper].map(Redacted.value)

/** Starts the store as after a power cut. */
const check = Effect.fnUntraced(function* (
  root: string,
  { account, secrets }: Recorded,
  answers: ReadonlyArray<Answer>,
  sync: boolean
) {
  const dataDir = storeIn(root)
  // A first start that was cut short begins again.
  if (!existsSync(dataDir)) mkdirSync(dataDir, { recursive: true })
  const found = yield* secretsOf(dataDir)
  if (!isMade(dataDir)) return assert.deepStrictEqual(answers, [])
  assert.deepStrictEqual(revealed(found), revealed(secrets))
  const idsOf = (of: "search" | "person") => answers.flatMap((it) => (it.of === of ? it.ids : []))
  yield* Effect.gen(function* () {
    yield* checkSearches(account, idsOf("search"))
    yield* checkOthers(answers, idsOf("person"))
    yield* checkBackup(root, answers)
  }).pipe(Effect.provide(storage(dataDir, sync), { local: true }))
})

const survives = Effect.fnUntraced(function* (used: Recorded, place: Place, cut: Cut, base = emptyBase) {
  const answers = writeState(used.operations, cut, base, place)
  // The holder of the lock ended with the power, but here it is this process, which lives.
  rmSync(join(storeIn(place.directory), "quarry.pid"), { force: true })
  return yield* Effect.exit(check(place.directory, used, answers, cut.random() < syncedShare))
})

const kinds: ReadonlyArray<Kept> = ["none", "subset", "prefix", "all"]

/** Each way of use and each kind of loss by turns, at a random moment. The first state is that after everything. */
const cuts = ({ began, operations }: Recorded): ReadonlyArray<Cut & { readonly name: string }> => {
  const random = randomFrom(seed)
  const starts = Object.entries(began)
  const end = operations.length
  return Array.from({ length: states }, (_, state) => {
    const turn = state % starts.length
    const [name = "", from = 0] = starts[turn] ?? []
    const until = starts[turn + 1]?.[1] ?? end
    const kept = kinds[Math.floor(state / starts.length) % kinds.length] ?? "none"
    if (state === 0) return { name: "everything", kept: "none", random, moment: end }
    return { name, kept, random, moment: from + 1 + Math.floor(random() * (until - from)) }
  })
}

/** The files whose syncs PGlite's `fdatasync` would skip: the write-ahead log. */
const logFiles = (operations: ReadonlyArray<Operation>): ReadonlySet<number> =>
  new Set(operations.flatMap((it) => (it.kind === "create" && it.path.includes("/pg_wal/") ? [it.file] : [])))

const mutations: ReadonlyArray<readonly [string, (operations: ReadonlyArray<Operation>) => ReadonlyArray<Operation>]> =
  [
    ["any sync", (all) => all.filter(({ kind }) => kind !== "sync" && kind !== "syncDirectory")],
    [
      "the log's sync, as with fdatasync",
      (all) => {
        const files = logFiles(all)
        return all.filter((it) => it.kind !== "sync" || !files.has(it.file))
      }
    ],
    ["the directories' sync", (all) => all.filter(({ kind }) => kind !== "syncDirectory")]
  ]

describe("a power cut", () => {
  it.live(
    "loses nothing that was answered in any state of the disk, and loses some without the syncs",
    () =>
      Effect.gen(function* () {
        const used = yield* recorded
        const place = new Place(yield* temporaryDirectoryIn(storesParent()))
        const losses: Array<string> = []
        const tried = new Map<string, number>()
        const made = baseAt(used.operations, used.began.searches ?? 0)
        for (const [state, cut] of cuts(used).entries()) {
          const exit = yield* survives(used, place, cut, cut.moment < made.moment ? emptyBase : made)
          tried.set(cut.name, (tried.get(cut.name) ?? 0) + 1)
          const loss = `seed ${seed}, state ${state}: ${cut.name}, ${cut.kept} of ${cut.moment} of ${used.operations.length}`
          if (Exit.isFailure(exit)) losses.push(`${loss}: ${Cause.pretty(exit.cause)}`)
          if (chosen !== undefined && (state % 100 === 99 || Exit.isFailure(exit)))
            yield* Console.log(
              `${state + 1} states (${JSON.stringify(Object.fromEntries(tried))}), losses: ${losses.length}`,
              losses.at(-1) ?? ""
            )
        }
        assert.deepStrictEqual(losses, [])
        for (const [missing, without] of mutations) {
          const operations = [...without(used.operations)]
          const last = { moment: operations.length, kept: "none", random: randomFrom(seed) } as const
          const exit = yield* survives({ ...used, operations }, place, last)
          assert.isTrue(Exit.isFailure(exit), `no loss was found without ${missing}`)
        }
      }).pipe(Effect.provide(NodeServices.layer)),
    timeout
  )
})
