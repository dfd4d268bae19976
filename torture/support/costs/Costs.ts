import { closeSync, openSync, readSync } from "node:fs"
import { Effect } from "effect"
import { Findings } from "../Findings.ts"
import * as CpuMeter from "./CpuMeter.ts"

/*
 * Measures the CPU time and the response size of requests, and reports those above their budget. Requests go one at a
 * time, and the next one waits until the server's main thread sleeps. So the CPU time that the process used in between
 * belongs to one request.
 */

/** Input up to this size has the whole budget. */
const inputBytes = 16 * 1024
const cpuMsOfRequest = 50
const bytesOfResponse = 1_000_000

/** Added for each further `inputBytes`. */
const cpuMsOfPart = 5

/** Added for each search that a request runs. The upstream returns ten results. */
const cpuMsOfSearch = 10

/**
 * Four times the input may use `growth` times the CPU time plus `noiseMs`. Quadratic work uses 16 times as much. Linear
 * work was measured at up to 11 times, because large heaps cost more to collect.
 */
const growth = 12
const noiseMs = 20

/** A request above its budget is repeated up to this many times, alone. It fails if no repetition is within the budget. */
const repetitions = 3

export interface Outcome {
  /** Distinguishes outcomes that did different work. */
  readonly status: string
  /** Bytes of all responses. */
  readonly bytes: number
  readonly searches: number
}

/** A request, or several on one connection, that can be sent repeatedly. */
export interface Unit {
  /** Identifies it in reports. */
  readonly name: string
  readonly bytes: number
  readonly requests: number
  /** Added to the CPU budget. */
  readonly extraMs?: number
  readonly send: Effect.Effect<Outcome, Error, Findings>
}

type Size = Pick<Unit, "bytes" | "requests" | "extraMs">

const furtherBytes = ({ bytes, requests }: Size): number => Math.max(0, bytes - requests * inputBytes)

export const allowedMs = (size: Size, searches: number): number =>
  cpuMsOfRequest * size.requests +
  (cpuMsOfPart * furtherBytes(size)) / inputBytes +
  cpuMsOfSearch * searches +
  (size.extraMs ?? 0)

export const allowedBytes = (size: Size): number => bytesOfResponse * size.requests + furtherBytes(size)

/** Compares the CPU time of a request with that of the same request at four times the size. */
export const growsTooFast = (beforeMs: number, afterMs: number): boolean => afterMs > growth * beforeMs + noiseMs

interface Measured {
  readonly unit: Unit
  readonly outcome: Outcome
  readonly cpuMs: number
  readonly allowedMs: number
}

const isCheap = ({ allowedMs, cpuMs }: Measured): boolean => cpuMs <= allowedMs

const format = (ms: number): string => `${Math.round(ms * 10) / 10} ms`

const describe = (measured: Measured | undefined): string =>
  measured === undefined
    ? "none"
    : `${format(measured.cpuMs)} (allowed: ${format(measured.allowedMs)}): ${measured.unit.name}`

/**
 * Reads whether the main thread of a process sleeps. A thread that is only waiting for a processor is not asleep, so this
 * also works on a loaded machine.
 */
const makeSleeps = (pid: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => openSync(`/proc/${pid}/stat`, "r")),
      (file) => Effect.sync(() => closeSync(file))
    ),
    (file) => {
      const buffer = Buffer.alloc(1024)
      return (): boolean => buffer.toString("latin1", 0, readSync(file, buffer, 0, buffer.length, 0)).includes(") S ")
    }
  )

const pollMs = 1
const maxPolls = 60_000

/** The server is idle if it uses less than `idleCpuMs` in `idleMs`. */
const idleMs = 10
const idleCpuMs = 0.5
const maxIdlePolls = 3_000

/** Measures the server with this process id. */
export const make = Effect.fnUntraced(function* (pid: number) {
  const findings = yield* Findings
  const cpuMs = yield* CpuMeter.make(pid)
  const sleeps = yield* makeSleeps(pid)
  const counts = { requests: 0, suspicious: 0, confirmed: 0, unrepeatable: 0 }
  /** Of requests with up to `inputBytes`, by CPU time; of longer ones, by the share of their budget; by response size. */
  const most: { short?: Measured; long?: Measured; response?: Measured } = {}

  const untilSleeping = Effect.gen(function* () {
    for (let poll = 0; poll < maxPolls && !sleeps(); poll++) yield* Effect.sleep(pollMs)
  })

  /** Waits until the work of earlier requests has ended. */
  const untilIdle = Effect.gen(function* () {
    for (let poll = 0; poll < maxIdlePolls; poll++) {
      const startMs = cpuMs()
      yield* Effect.sleep(idleMs)
      if (sleeps() && cpuMs() - startMs < idleCpuMs) return
    }
  })

  const sendUntil = Effect.fnUntraced(function* (unit: Unit, end: Effect.Effect<void>) {
    const startMs = cpuMs()
    const outcome = yield* unit.send
    yield* end
    counts.requests += unit.requests
    const measured: Measured = {
      ...{ unit, outcome, cpuMs: cpuMs() - startMs },
      allowedMs: allowedMs(unit, outcome.searches)
    }
    return measured
  })

  /**
   * Repeats a request alone until `isEnough`. Returns the lowest measurement, and the number of repetitions that had the
   * same outcome: a request that creates something may fail when it is repeated, which costs less.
   */
  const repeat = Effect.fnUntraced(function* (first: Measured, isEnough: (measured: Measured) => boolean) {
    let lowest = first
    let same = 0
    for (let repetition = 0; repetition < repetitions && !isEnough(lowest); repetition++) {
      yield* untilIdle
      const again = yield* sendUntil(first.unit, untilIdle)
      if (again.outcome.status !== first.outcome.status) continue
      same++
      if (again.cpuMs < lowest.cpuMs) lowest = again
    }
    return { lowest, same }
  })

  /** Updates the maxima. A new maximum is repeated, because garbage collection may have caused it. */
  const record = Effect.fnUntraced(function* (measured: Measured) {
    const key = furtherBytes(measured.unit) > 0 ? "long" : "short"
    const rank = (it: Measured): number => (key === "long" ? it.cpuMs / it.allowedMs : it.cpuMs)
    const isHighest = (it: Measured): boolean => {
      const highest = most[key]
      return highest === undefined || rank(it) > rank(highest)
    }
    if (most.response === undefined || measured.outcome.bytes > most.response.outcome.bytes) most.response = measured
    if (measured.unit.requests > 1 || !isHighest(measured)) return
    const { lowest } = yield* repeat(measured, (it) => !isHighest(it))
    if (isHighest(lowest)) most[key] = lowest
  })

  const checkCpu = Effect.fnUntraced(function* (measured: Measured) {
    if (isCheap(measured)) return measured
    counts.suspicious++
    const { lowest, same } = yield* repeat(measured, isCheap)
    if (same === 0) counts.unrepeatable++
    else if (!isCheap(lowest)) {
      counts.confirmed++
      yield* findings.violation(`CPU time, the lowest of ${same + 1} measurements: ${describe(lowest)}`)
    }
    return lowest
  })

  /** Sends a request and checks its cost. Returns undefined for a request above its budget. */
  const measure = Effect.fnUntraced(function* (unit: Unit) {
    const measured = yield* checkCpu(yield* sendUntil(unit, untilSleeping))
    const { bytes } = measured.outcome
    yield* record(measured)
    if (bytes <= allowedBytes(unit)) return isCheap(measured) ? measured : undefined
    yield* findings.violation(`a response of ${bytes} bytes (allowed: ${allowedBytes(unit)}): ${unit.name}`)
    return undefined
  })

  const checkGrowth = Effect.fnUntraced(function* (before: Measured, after: Measured) {
    if (!growsTooFast(before.cpuMs, after.cpuMs)) return
    counts.suspicious++
    const { lowest: low } = yield* repeat(before, () => false)
    const { lowest: high, same } = yield* repeat(after, (it) => !growsTooFast(low.cpuMs, it.cpuMs))
    if (same === 0) counts.unrepeatable++
    else if (growsTooFast(low.cpuMs, high.cpuMs)) {
      counts.confirmed++
      const beforeText = `${format(low.cpuMs)} for ${low.unit.bytes} bytes`
      yield* findings.violation(`CPU time grows faster than the input: ${beforeText}, and ${describe(high)}`)
    }
  })

  /** Sends requests of growing size, up to the first one above its budget. */
  const measureGrowth = Effect.fnUntraced(function* (units: ReadonlyArray<Unit>) {
    let before: Measured | undefined
    for (const unit of units) {
      const measured = yield* measure(unit)
      if (measured === undefined) return
      if (before !== undefined) yield* checkGrowth(before, measured)
      before = measured
    }
  })

  return { measure, measureGrowth, cpuMs, untilIdle, counts, most }
})

export type Costs = Effect.Success<ReturnType<typeof make>>

const highest = (
  all: ReadonlyArray<Measured | undefined>,
  rank: (measured: Measured) => number
): Measured | undefined => all.filter((it) => it !== undefined).toSorted((a, b) => rank(b) - rank(a))[0]

/** Reports what was measured at several servers. */
export const report = Effect.fnUntraced(function* (all: ReadonlyArray<Costs>) {
  const findings = yield* Findings
  const sum = (name: keyof Costs["counts"]) => all.reduce((total, { counts }) => total + counts[name], 0)
  yield* findings.note(
    `${sum("suspicious")} requests were suspicious, ${sum("confirmed")} confirmed, ${sum("unrepeatable")} not repeatable; the others were within the budget alone`
  )
  const short = highest(
    all.map(({ most }) => most.short),
    ({ cpuMs }) => cpuMs
  )
  const long = highest(
    all.map(({ most }) => most.long),
    ({ allowedMs, cpuMs }) => cpuMs / allowedMs
  )
  const response = highest(
    all.map(({ most }) => most.response),
    ({ outcome }) => outcome.bytes
  )
  yield* findings.note(`most CPU time of a request of up to 16 KiB: ${describe(short)}`)
  yield* findings.note(`most CPU time of a longer request, by its share of the budget: ${describe(long)}`)
  yield* findings.note(`longest response: ${response?.outcome.bytes ?? 0} bytes: ${response?.unit.name}`)
  return sum("requests")
})
