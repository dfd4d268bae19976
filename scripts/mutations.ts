import { parseArgs } from "node:util"
import { checkMutations } from "../simulation/mutations/mutations.ts"
import { makeCopy, tryMutation } from "./mutations/Copy.ts"
import { sampleOf } from "./mutations/sample.ts"
import { makeTable, testedMutations } from "./mutations/table.ts"

/**
 * Puts mistakes into a copy of the sources, one at a time, and runs the tests that must find them.
 *
 *   npm run mutations                              every mistake that a test of `npm test` must find
 *   npm run mutations -- --sample 5 --seed 7       five of them
 *   npm run mutations -- --only idempotency        those whose name or file contains the text
 *   npm run mutations -- --simulation              also runs the simulation on its mistakes
 *   npm run -s mutations -- --list                 docs/internals/mutations.md: all mistakes, and what finds each
 */

const { values } = parseArgs({
  options: {
    sample: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 100_000) },
    only: { type: "string", default: "" },
    simulation: { type: "boolean", default: false },
    list: { type: "boolean", default: false }
  }
})
const { list, only, sample, seed, simulation } = values

const matching = testedMutations.filter(({ file, name }) => name.includes(only) || file.includes(only))
const chosen = sample === undefined ? matching : sampleOf(matching, Number(sample), Number(seed))

/** Returns true if all are found. */
const tryAll = async (): Promise<boolean> => {
  const copy = makeCopy()
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))
  let missed = 0
  for (const mutation of chosen) {
    const { foundBy, seconds } = await tryMutation(copy.directory, mutation)
    if (foundBy === undefined) missed++
    console.log(`${mutation.name} (${mutation.file}): ${foundBy ?? "NOT FOUND"} (${seconds.toFixed(1)} s)`)
  }
  copy.remove()
  console.log(`${chosen.length - missed} of ${chosen.length} mistakes were found${sample ? `, with seed ${seed}` : ""}`)
  return missed === 0
}

if (list) {
  process.stdout.write(makeTable())
} else {
  const found = [await tryAll()]
  if (simulation) found.push(await checkMutations("memory"), await checkMutations("embedded"))
  process.exitCode = found.every(Boolean) ? 0 : 1
}
