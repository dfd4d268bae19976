import { setMaxListeners } from "node:events"
import { attacks, type Means, type Tally } from "./attacks.ts"

/**
 * Runs all attacks at once for a given time, in a separate process so that attackers do not share their caller's clock.
 * Its last line of output has the outcome of each.
 */
const {
  only,
  seconds,
  ...means
}: Omit<Means, "stop"> & {
  readonly seconds: number
  readonly only: ReadonlyArray<number> | undefined
} = JSON.parse(process.argv[2] ?? "")

/** Time to release what the attacks hold open. */
const leaveMs = 2000

const stop = new AbortController()
setMaxListeners(0, stop.signal)
const chosen = attacks.filter((_, index) => only === undefined || only.includes(index + 1))
const results = chosen.map(({ name, run }) => {
  const tally: Tally = {}
  const count = (what: string): void => {
    tally[what] = (tally[what] ?? 0) + 1
  }
  run({ ...means, stop: stop.signal }, count).catch((error) => count(`failed itself: ${error}`))
  return { name, tally }
})

setTimeout(() => {
  stop.abort()
  setTimeout(() => {
    console.log(JSON.stringify(results))
    process.exit()
  }, leaveMs)
}, seconds * 1000)
