import type { Latency } from "./Job.ts"

/** CPU seconds per 1,000 searches, which equal milliseconds per search. */
export interface Cpu {
  /** CPU time of the measured processes. */
  readonly service: number
  /** Undefined if the benchmark did not start the server. */
  readonly postgres: number | undefined
  readonly redis: number | undefined
  readonly total: number
}

/** One stretch of load on one subject. */
export interface Measurement {
  readonly subject: string
  /** The variant, if the scenario has several, such as `64 connections`. */
  readonly variant: string
  /** The number of the round, from 1. The runs of a round are consecutive. */
  readonly pair: number
  readonly searches: number
  readonly perSecond: number
  readonly latencyMs: Latency
  readonly cpu: Cpu
  readonly statuses: Readonly<Record<string, number>>
  readonly errors: number
}

/** A value that is not measured under load, such as megabytes or milliseconds to start. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The required range, if there is one. */
  readonly wanted?: { readonly atMost?: number; readonly atLeast?: number }
}

export interface Result {
  readonly scenario: string
  readonly measures: string
  readonly measurements: ReadonlyArray<Measurement>
  readonly figures: ReadonlyArray<Figure>
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

/** The runs of one subject in one variant. */
export const runsOf = (
  measurements: ReadonlyArray<Measurement>,
  subject: string,
  variant: string
): ReadonlyArray<Measurement> =>
  measurements.filter((measurement) => measurement.subject === subject && measurement.variant === variant)

/** Compares two subjects pair by pair, so that other load on the machine affects both. */
const compared =
  (of: (figure: number, other: number) => number) =>
  (
    measurements: ReadonlyArray<Measurement>,
    variant: string,
    [subject, other]: readonly [string, string],
    figure: (measurement: Measurement) => number
  ): ReadonlyArray<number> =>
    runsOf(measurements, subject, variant).flatMap((measurement) => {
      const pair = runsOf(measurements, other, variant).find((candidate) => candidate.pair === measurement.pair)
      return pair === undefined ? [] : [of(figure(measurement), figure(pair))]
    })

export const ratios = compared((figure, other) => figure / other)
export const differences = compared((figure, other) => figure - other)
