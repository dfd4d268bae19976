import { spawnSync } from "node:child_process"
import { PerformanceObserver } from "node:perf_hooks"
import { fileURLToPath } from "node:url"

/*
 * Measures the cost of garbage in V8's old space (docs/internals/design/lifecycle.md, Memory). Objects of about 20 kB
 * live until eight more have been created, like searches, and are kept in one of these ways. Each way runs in its own
 * process.
 */

interface Load {
  /** The objects of a search. Nothing else refers to them. */
  content: ReadonlyArray<object> | undefined
}

interface Keeper {
  readonly add: (load: Load) => void
  readonly remove: (load: Load) => void
}

const inSet = (letGo: boolean): Keeper => {
  const loads = new Set<Load>()
  return {
    add: (load) => void loads.add(load),
    remove: (load) => {
      loads.delete(load)
      if (letGo) load.content = undefined
    }
  }
}

const inArray = (): Keeper => {
  const loads: Array<Load> = []
  return { add: (load) => void loads.push(load), remove: (load) => void loads.splice(loads.indexOf(load), 1) }
}

const ways: Readonly<Record<string, () => Keeper>> = {
  "kept by nothing": () => ({ add: () => undefined, remove: () => undefined }),
  "a Set": () => inSet(false),
  "a Set, and what leaves it lets go": () => inSet(true),
  "an array": inArray
}

const loads = 200_000
const loadsPerTurn = 50
const alive = 8

const run = async (keeper: Keeper): Promise<string> => {
  let collecting = 0
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collecting += duration
  })
  observer.observe({ entryTypes: ["gc"] })
  const before = process.cpuUsage()
  const present: Array<Load> = []
  for (let made = 0; made < loads; made++) {
    const load: Load = { content: Array.from({ length: 400 }, (_, index) => ({ index })) }
    keeper.add(load)
    present.push(load)
    const oldest = present.length > alive ? present.shift() : undefined
    if (oldest !== undefined) keeper.remove(oldest)
    if (made % loadsPerTurn === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  const { system, user } = process.cpuUsage(before)
  return `${((user + system) / loads).toFixed(1)} µs of CPU each, ${collecting.toFixed(0)} ms of collections in all`
}

const [chosen] = process.argv.slice(2)
const make = ways[chosen ?? ""]
if (make !== undefined) console.log(`${chosen}: ${await run(make())}`)
else {
  for (const way of Object.keys(ways)) {
    spawnSync(process.execPath, ["--max-semi-space-size=32", fileURLToPath(import.meta.url), way], { stdio: "inherit" })
  }
}
