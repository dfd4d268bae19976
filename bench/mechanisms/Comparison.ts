import { setImmediate } from "node:timers/promises"
import { Effect } from "effect"
import { cpuMs } from "../support/Cpu.ts"
import { median } from "../support/Measurement.ts"

/** Figures of one round, for each operation. */
export interface Sample {
  /** CPU time of this process in microseconds. */
  readonly cpu: number
  /** CPU time of the server in microseconds. Undefined if there is none, or if it is not ours. */
  readonly server?: number | undefined
  /** How long an operation took, in milliseconds. Undefined for operations that run one after another. */
  readonly took?: number
}

export interface Comparison {
  readonly name: string
  readonly ours: Effect.Effect<Sample>
  readonly library: Effect.Effect<Sample>
  /** A fact that the figures do not show, printed below the table. */
  readonly note?: Effect.Effect<string>
}

export interface LoopOptions {
  readonly perRound?: number
  /** Callers that each start their next operation when the previous one has ended. */
  readonly callers?: number
  /** Process id of the server. Its CPU time has a resolution of 10 ms, so short rounds say nothing about it. */
  readonly server?: number | undefined
}

const operationsPerRound = 4_000

/** Yields to the event loop this often, so that queues are flushed and timers run. */
const perTurn = 16

const turn = Effect.promise(() => setImmediate())

const oneAfterAnother = Effect.fnUntraced(function* (effect: Effect.Effect<unknown>, count: number) {
  for (let done = 0; done < count; done += perTurn) {
    for (let n = 0; n < perTurn; n++) yield* effect
    yield* turn
  }
})

/** Runs an effect many times. */
export const loop = (
  effect: Effect.Effect<unknown, unknown>,
  { callers = 1, perRound = operationsPerRound, server }: LoopOptions = {}
): Effect.Effect<Sample> =>
  Effect.gen(function* () {
    const operation = Effect.orDie(effect)
    yield* turn
    const serverBefore = server === undefined ? 0 : cpuMs(server)
    const [before, startedAt] = [process.cpuUsage(), performance.now()]
    if (callers === 1) yield* oneAfterAnother(operation, perRound)
    else yield* Effect.forEach(Array(perRound), () => operation, { concurrency: callers, discard: true })
    const { system, user } = process.cpuUsage(before)
    const elapsed = performance.now() - startedAt
    return {
      cpu: (system + user) / perRound,
      ...(server === undefined ? {} : { server: ((cpuMs(server) - serverBefore) * 1_000) / perRound }),
      ...(callers === 1 ? {} : { took: (elapsed * callers) / perRound })
    }
  })

export const compare = (
  name: string,
  ours: Effect.Effect<unknown, unknown>,
  library: Effect.Effect<unknown, unknown>,
  { note, ...options }: LoopOptions & Pick<Comparison, "note"> = {}
): Comparison => ({
  name,
  ours: loop(ours, options),
  library: loop(library, options),
  ...(note === undefined ? {} : { note })
})

const warmUpRounds = 5

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

const cell = (values: ReadonlyArray<number | undefined>, summarize: typeof mean): string => {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? "–" : summarize(known).toFixed(2)
}

export const tableHead = [
  "| | Ours, CPU µs | Library | Ours, server's CPU µs | Library | Ours, took ms | Library |",
  "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
].join("\n")

/** Alternates both sides, and returns a row of the table. */
export const measure = Effect.fnUntraced(function* ({ library, name, ours }: Comparison, rounds: number) {
  const samples = { ours: [] as Array<Sample>, library: [] as Array<Sample> }
  for (let round = -warmUpRounds; round < rounds; round++) {
    const sides = round % 2 === 0 ? (["ours", "library"] as const) : (["library", "ours"] as const)
    for (const side of sides) {
      const sample = yield* side === "ours" ? ours : library
      if (round >= 0) samples[side].push(sample)
    }
  }
  const cells = (figure: (sample: Sample) => number | undefined, summarize = median) =>
    [samples.ours, samples.library].map((side) => cell(side.map(figure), summarize))
  // The mean, because the server's CPU time comes in steps of 10 ms.
  const server = cells((sample) => sample.server, mean)
  return `| ${[name, ...cells(({ cpu }) => cpu), ...server, ...cells(({ took }) => took)].join(" | ")} |`
})
