import { closeSync, openSync, readSync } from "node:fs"
import { Effect } from "effect"
import * as CpuMeter from "./CpuMeter.ts"
import { Findings } from "./Findings.ts"

/*
 * Holds each request to a budget of CPU time and of bytes. Requests go one at a time, and a request ends when the server's
 * main thread sleeps again, so that what the process has used since the request before is what this one has cost.
 */

/** Input up to this size has the whole budget. */
const inputBytes = 16 * 1024
const cpuMsOfRequest = 50
const bytesOfAnswer = 1_000_000

/** What each further part of this size adds, and each further byte. */
const cpuMsOfPart = 5

/** For each search that a request runs, from an upstream with ten results. */
const cpuMsOfSearch = 10

/**
 * Four times the input may cost `growth` times as much, and so much more. A square would grow 16 times; what grows with the
 * input alone may seem to grow 11 times, where the collector of garbage has more to copy.
 */
const growth = 12
const cpuMsOfNoise = 20

/** A suspicious request is sent alone again so often. Each repetition must cost too much, or it was something else. */
const repetitions = 3

/** What a request came to. */
export interface Outcome {
  /** Of its answers. */
  readonly bytes: number
  readonly searches: number
}

/** A request, or several on one connection, that can be sent again and again. */
export interface Unit {
  /** Says which one it is. */
  readonly name: string
  readonly bytes: number
  readonly requests: number
  /** What its answer costs whatever is sent. */
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

export const allowedBytes = (size: Size): number => bytesOfAnswer * size.requests + furtherBytes(size)

/** Whether four times the input costs too much more. */
export const growsTooFast = (beforeMs: number, afterMs: number): boolean => afterMs > growth * beforeMs + cpuMsOfNoise

/** A request that was sent, and what it cost. */
export interface Measured {
  readonly unit: Unit
  readonly outcome: Outcome
  readonly cpuMs: number
  readonly allowedMs: number
}

const shareOf = (it: Measured): number => it.cpuMs / it.allowedMs

const shown = (ms: number): string => `${Math.round(ms * 10) / 10} ms`

const lookMs = 1

/** Says whether the main thread of a process waits. One that is ready may just have no processor. */
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

/** A server that is idle has used less in so long. */
const idleMs = 10
const idleCpuMs = 0.5
const maxLooks = 3_000

/** Sends requests to the server of this process, and keeps the accounts of what they cost. */
export const make = Effect.fnUntraced(function* (pid: number) {
  const findings = yield* Findings
  const cpuMs = yield* CpuMeter.make(pid)
  const sleeps = yield* makeSleeps(pid)
  const counts = { requests: 0, suspicious: 0, confirmed: 0 }
  let dearest: Measured | undefined
  let dearestLong: Measured | undefined
  let longest: Measured | undefined

  const untilSleeping = Effect.gen(function* () {
    while (!sleeps()) yield* Effect.sleep(lookMs)
  })

  /** Waits until nothing is left to do of the requests before. */
  const untilIdle = Effect.gen(function* () {
    for (let look = 0; look < maxLooks; look++) {
      const startMs = cpuMs()
      yield* Effect.sleep(idleMs)
      if (sleeps() && cpuMs() - startMs < idleCpuMs) return
    }
  })

  const sendThen = Effect.fnUntraced(function* (unit: Unit, end: Effect.Effect<void>) {
    const startMs = cpuMs()
    const outcome = yield* unit.send
    yield* end
    counts.requests += unit.requests
    return { unit, outcome, cpuMs: cpuMs() - startMs, allowedMs: allowedMs(unit, outcome.searches) } as Measured
  })

  /** The least that a request costs alone, of this measure and of repetitions up to the first that is `enough`. */
  const alone = Effect.fnUntraced(function* (first: Measured, enough: (measured: Measured) => boolean) {
    let least = first
    for (let repetition = 0; repetition < repetitions && !enough(least); repetition++) {
      yield* untilIdle
      const again = yield* sendThen(first.unit, untilIdle)
      if (again.cpuMs < least.cpuMs) least = again
    }
    return least
  })

  /** Keeps the most expensive requests. What the collector of garbage took by chance is not counted. */
  const record = Effect.fnUntraced(function* (measured: Measured) {
    const isLong = furtherBytes(measured.unit) > 0
    const isDearest = (it: Measured): boolean => {
      const most = isLong ? dearestLong : dearest
      return most === undefined || (isLong ? shareOf(it) > shareOf(most) : it.cpuMs > most.cpuMs)
    }
    if (longest === undefined || measured.outcome.bytes > longest.outcome.bytes) longest = measured
    if (!isDearest(measured)) return
    const least = yield* alone(measured, (it) => !isDearest(it))
    if (!isDearest(least)) return
    if (isLong) dearestLong = least
    else dearest = least
  })

  /** Sends a request, and says what is wrong with its cost. False if it is too high. */
  const measure = Effect.fnUntraced(function* (unit: Unit) {
    const measured = yield* sendThen(unit, untilSleeping)
    const { bytes } = measured.outcome
    if (bytes > allowedBytes(unit))
      yield* findings.violation(`an answer of ${bytes} bytes (allowed: ${allowedBytes(unit)}): ${unit.name}`)
    if (measured.cpuMs <= measured.allowedMs) {
      yield* record(measured)
      return { measured, isCheap: bytes <= allowedBytes(unit) }
    }
    counts.suspicious++
    const least = yield* alone(measured, (it) => it.cpuMs <= it.allowedMs)
    const isCheap = least.cpuMs <= least.allowedMs
    if (!isCheap) {
      counts.confirmed++
      yield* findings.violation(
        `${shown(least.cpuMs)} of CPU (allowed: ${shown(least.allowedMs)}), and no less in ${repetitions} repetitions alone: ${unit.name}`
      )
    }
    return { measured: least, isCheap: isCheap && bytes <= allowedBytes(unit) }
  })

  /** Sends requests of growing size, each four times as long as the one before, up to one that costs too much. */
  const climb = Effect.fnUntraced(function* (units: ReadonlyArray<Unit>) {
    let before: Measured | undefined
    for (const unit of units) {
      const { isCheap, measured } = yield* measure(unit)
      if (!isCheap) return
      if (before !== undefined && growsTooFast(before.cpuMs, measured.cpuMs)) {
        counts.suspicious++
        const { cpuMs: beforeMs } = yield* alone(before, () => false)
        const { cpuMs: afterMs } = yield* alone(measured, (it) => !growsTooFast(beforeMs, it.cpuMs))
        if (growsTooFast(beforeMs, afterMs)) {
          counts.confirmed++
          return yield* findings.violation(
            `${shown(beforeMs)} of CPU for ${before.unit.bytes} bytes, and ${shown(afterMs)} for ${unit.bytes}: ${unit.name}`
          )
        }
      }
      before = measured
    }
  })

  const show = (it: Measured | undefined): string =>
    it === undefined ? "none" : `${shown(it.cpuMs)} (allowed: ${shown(it.allowedMs)}): ${it.unit.name}`

  const tell = Effect.gen(function* () {
    yield* findings.note(
      `suspicious: ${counts.suspicious} requests, of which ${counts.confirmed} cost too much when they were sent alone`
    )
    yield* findings.note(`most CPU of a request of up to 16 KiB: ${show(dearest)}`)
    yield* findings.note(`most CPU of a longer one, by what is allowed: ${show(dearestLong)}`)
    yield* findings.note(`longest answer: ${longest?.outcome.bytes} bytes: ${longest?.unit.name}`)
  })
  return { measure, climb, cpuMs, untilIdle, counts, tell }
})

export type Costs = Effect.Success<ReturnType<typeof make>>
