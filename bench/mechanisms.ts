import { Effect, type Scope } from "effect"
import { type Comparison, measure, tableHead } from "./mechanisms/Comparison.ts"
import * as caches from "./mechanisms/caches.ts"
import * as coolDown from "./mechanisms/coolDown.ts"
import * as embedded from "./mechanisms/embedded.ts"
import * as inProcess from "./mechanisms/inProcess.ts"
import * as ledger from "./mechanisms/ledger.ts"
import * as listener from "./mechanisms/listener.ts"
import * as redis from "./mechanisms/redis.ts"
import * as settings from "./mechanisms/settings.ts"
import { load } from "./support/Machine.ts"
import type { CannotRun } from "./support/Stores.ts"

/*
 * Compares our own mechanisms with the library calls that they replace, alternating in one process.
 * docs/internals/machinery.md has the results. Starts the servers that it needs, like `npm run bench`.
 *
 *   npx node bench/mechanisms.ts [rounds] [group ...]
 */

const groups: Readonly<Record<string, Effect.Effect<ReadonlyArray<Comparison>, CannotRun, Scope.Scope>>> = {
  inProcess: inProcess.comparisons,
  coolDown: coolDown.comparisons,
  settings: settings.comparisons,
  ledger: ledger.comparisons,
  redis: redis.comparisons,
  caches: caches.comparisons,
  embedded: embedded.comparisons,
  listener: listener.comparisons
}

const usualRounds = 30

const [rounds = usualRounds, ...chosen] = process.argv.slice(2)

const run = Effect.fnUntraced(function* (group: string) {
  console.log(`\n## ${group} (load average ${load()})\n\n${tableHead}`)
  const notes: Array<string> = []
  for (const comparison of yield* groups[group] ?? Effect.die(new Error(`There is no group ${group}.`))) {
    console.log(yield* measure(comparison, Number(rounds)))
    if (comparison.note !== undefined) notes.push(yield* comparison.note)
  }
  console.log(["", ...notes].join("\n"))
}, Effect.scoped)

await Effect.runPromise(Effect.forEach(chosen.length === 0 ? Object.keys(groups) : chosen, run, { discard: true }))
