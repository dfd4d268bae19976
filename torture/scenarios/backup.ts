import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Random, Redacted } from "effect"
import { temporaryDirectory } from "../../test/support/processes/Spawned.ts"
import { postgresServer } from "../../test/support/servers/PostgresServer.ts"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import type { Answer } from "../support/Client.ts"
import { Findings } from "../support/Findings.ts"
import * as Load from "../support/Load.ts"
import * as Replica from "../support/Replica.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"
import * as Subprocess from "../support/Subprocess.ts"

const script = fileURLToPath(new URL("../../scripts/backup.ts", import.meta.url))

/** Runs the backup script. Returns the times of its start and end. */
const backup = Effect.fnUntraced(function* (command: "take" | "restore", path: string, database: Redacted.Redacted) {
  const findings = yield* Findings
  const said: Array<string> = []
  const startedAt = performance.now()
  const { ended } = yield* Subprocess.start(process.execPath, [script, command, path], {
    env: { DATABASE_URL: Redacted.value(database) },
    onLine: (line) => said.push(line)
  })
  const code = yield* ended
  if (code !== 0) yield* findings.violation(`backup ${command} ended with ${code}: ${said.join("; ")}`)
  return { startedAt, endedAt: performance.now() }
})

/** A response whose search may or may not be in the backup. */
const uncertain = (answer: Answer): Answer => ({
  ...answer,
  status: undefined,
  asked: answer.asked.map(({ query }) => ({ query, outcome: undefined }))
})

/** The responses that the books of the backup must match: all before it, possibly those during it, none after it. */
const heldBy = (answers: ReadonlyArray<Answer>, taken: { readonly startedAt: number; readonly endedAt: number }) =>
  answers
    .filter(({ startedAt }) => startedAt < taken.endedAt)
    .map((answer) => (answer.endedAt < taken.startedAt ? answer : uncertain(answer)))

export const backups: Scenario = {
  name: "backup",
  promise:
    "a backup taken under traffic restores to books that add up, with all that was charged before it, and serves",
  rounds: 10,
  run: Effect.fnUntraced(function* ({ rounds, short }) {
    const findings = yield* Findings
    const directory = yield* temporaryDirectory
    const server = yield* postgresServer
    const { client, how, replicas, store } = yield* Stage.make({ replicas: 2, database: server.url })
    const customers = yield* Effect.replicateEffect(Store.customer(store, { quota: 500_000, packs: 500_000 }), 3)
    const [customer] = customers
    if (customer === undefined) return
    const earlier: Array<Answer> = []

    for (let round = 1; round <= rounds; round++) {
      const path = join(directory, `backup-${round}`)
      const load = yield* Load.start({ client, customers, replicas: () => replicas, callers: 12, batches: 0.1 })
      yield* Effect.sleep(yield* Random.nextIntBetween(500, 3000))
      const taken = yield* backup("take", path, server.url)
      yield* Effect.sleep("500 millis")
      const answers = yield* load.stop
      if (!existsSync(path)) return

      // A separate, empty server, which has no access to the first one's data.
      yield* Effect.gen(function* () {
        const empty = yield* postgresServer
        const { endedAt, startedAt } = yield* backup("restore", path, empty.url)
        const restored = yield* Store.open(empty.url)
        yield* Audit.verified(restored)
        const replica = yield* Replica.start({ ...how, database: empty.url })
        if (short) yield* Audit.endLeases(restored)
        yield* Audit.holdsEnd(restored)
        yield* Audit.audit(restored, customers, [...earlier, ...heldBy(answers, taken)])
        const answer = yield* client.search(replica.url, customer.secret, `restored ${round} wait0`)
        if (answer.status !== 200) yield* findings.violation(`the restored service answers ${answer.status}`)
        yield* Audit.verified(restored)
        yield* findings.note(
          `round ${round}: taken in ${Math.round(taken.endedAt - taken.startedAt)} ms, restored in ${Math.round(endedAt - startedAt)} ms`
        )
      }).pipe(Effect.scoped)
      earlier.push(...answers)
    }
    yield* Audit.holdsEnd(store)
    yield* Audit.audit(store, customers, earlier)
  })
}
