import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect } from "effect"
import { decodeSpans, type OtlpSpan } from "../otel/viewer/Otlp.ts"
import { distinctSearches } from "./scenarios/search.ts"
import type { Traced } from "./support/Job.ts"
import { load, machine } from "./support/Machine.ts"
import type { Pause } from "./support/pauses.ts"
import { full } from "./support/Scale.ts"
import { make } from "./support/Stage.ts"
import { quarryReplica } from "./support/Subject.ts"

/*
 * Where the slowest hundred searches at 64 connections spend their time, compared with searches of median latency. Every
 * search is traced, which costs about 15 % of its CPU time.
 */

const usage = `npx node bench/tail.ts [--connections N] [--seconds N] [--warm-up N] [--json FILE]`

const slowestCount = 100

/** Keeps bodies undecoded until the load has ended. */
const collector = Effect.map(
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly bodies: Array<Buffer>; readonly close: () => void }>((resume) => {
      const bodies: Array<Buffer> = []
      const server = createServer(async (request, response) => {
        bodies.push(await buffer(request))
        response.writeHead(200, { "content-type": "application/x-protobuf" }).end()
      })
      server.listen(0, "127.0.0.1", () => {
        // A listening TCP server's address is an AddressInfo.
        const { port } = server.address() as AddressInfo
        const close = () => {
          server.closeAllConnections()
          server.close()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}/v1/traces`, bodies, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ),
  ({ bodies, url }) => ({ bodies, url })
)

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "quarry-tail-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const startOf = (span: OtlpSpan): number => Number(span.startNanos) / 1e6
const endOf = (span: OtlpSpan): number => Number(span.endNanos) / 1e6

/** The parts of a search's time, in milliseconds, in the order in which they come. */
type Parts = Record<string, number>

/** A step of the ledger: waiting for the statement in flight, the statement itself, and resuming after it. */
const ledgerParts = (name: string, step: OtlpSpan, byId: ReadonlyMap<string, OtlpSpan>): Parts => {
  const batch = step.links.map(({ spanId }) => byId.get(spanId)).find((span) => span !== undefined)
  if (batch === undefined) return { [`${name}: unlinked`]: endOf(step) - startOf(step) }
  return {
    [`${name}: wait for a turn`]: startOf(batch) - startOf(step),
    [`${name}: statement`]: endOf(batch) - startOf(batch),
    [`${name}: resume`]: endOf(step) - endOf(batch)
  }
}

const partsOf = (
  { receivedAt, sentAt }: Traced,
  spans: ReadonlyArray<OtlpSpan>,
  byId: ReadonlyMap<string, OtlpSpan>
): Parts | undefined => {
  const named = (name: string) => spans.find((span) => span.name === name)
  const server = spans.find(({ kind }) => kind === 2)
  const [limiter, reserve, provider, settle] = [
    "RateLimiter.hit",
    "Ledger.reserve",
    "Provider.search",
    "Ledger.settle"
  ].map(named)
  if (!(server && limiter && reserve && provider && settle)) return undefined
  const parts: Parts = {
    "until the edge": startOf(server) - sentAt,
    "edge and key": startOf(limiter) - startOf(server),
    "rate limit": endOf(limiter) - startOf(limiter),
    "until the reservation": startOf(reserve) - endOf(limiter),
    ...ledgerParts("reserve", reserve, byId),
    "cache, and a turn": startOf(provider) - endOf(reserve),
    provider: endOf(provider) - startOf(provider),
    "ranking, log entry": startOf(settle) - endOf(provider),
    ...ledgerParts("settle", settle, byId),
    response: endOf(server) - endOf(settle),
    "until the client": receivedAt - endOf(server)
  }
  return parts
}

interface Search {
  readonly traced: Traced
  readonly latencyMs: number
  readonly parts: Parts
  /** Time of this search in which the process collected garbage. */
  readonly minorMs: number
  readonly otherMs: number
  /** The longest turn of the event loop during this search. */
  readonly turnMs: number
}

const overlap = (pause: Pause, { receivedAt, sentAt }: Traced): number =>
  Math.max(0, Math.min(pause.to, receivedAt) - Math.max(pause.from, sentAt))

const searchesOf = (
  traces: ReadonlyArray<Traced>,
  spans: ReadonlyArray<OtlpSpan>,
  pauses: ReadonlyArray<Pause>
): ReadonlyArray<Search> => {
  const byTrace = Map.groupBy(spans, ({ traceId }) => traceId)
  const byId = new Map(spans.map((span) => [span.spanId, span]))
  return traces.flatMap((traced) => {
    const parts = partsOf(traced, byTrace.get(traced.traceId) ?? [], byId)
    if (parts === undefined) return []
    const during = pauses.filter((pause) => overlap(pause, traced) > 0)
    const sum = (kind: Pause["kind"]) =>
      during.filter((pause) => pause.kind === kind).reduce((total, pause) => total + overlap(pause, traced), 0)
    const turns = during.filter(({ kind }) => kind === "turn").map(({ from, to }) => to - from)
    const latencyMs = traced.receivedAt - traced.sentAt
    return [{ traced, latencyMs, parts, minorMs: sum("minor"), otherMs: sum("other"), turnMs: Math.max(0, ...turns) }]
  })
}

const mean = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

/** Means over a group of searches, and in how many of them each part took the most of the extra time. */
const summary = (group: ReadonlyArray<Search>, usual: Parts) => {
  const names = [...new Set(group.flatMap(({ parts }) => Object.keys(parts)))]
  const parts = Object.fromEntries(names.map((name) => [name, mean(group.map(({ parts }) => parts[name] ?? 0))]))
  const largest = group.map(({ parts }) =>
    names.reduce((one, other) =>
      (parts[other] ?? 0) - (usual[other] ?? 0) > (parts[one] ?? 0) - (usual[one] ?? 0) ? other : one
    )
  )
  return {
    latencyMs: mean(group.map(({ latencyMs }) => latencyMs)),
    parts,
    largest: Object.fromEntries(names.map((name) => [name, largest.filter((it) => it === name).length])),
    minorGcMs: mean(group.map(({ minorMs }) => minorMs)),
    otherGcMs: mean(group.map(({ otherMs }) => otherMs)),
    longestTurnMs: mean(group.map(({ turnMs }) => turnMs))
  }
}

const quantile = (sorted: ReadonlyArray<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

const reportOf = (searches: ReadonlyArray<Search>, pauses: ReadonlyArray<Pause>) => {
  const sorted = searches.toSorted((one, other) => one.latencyMs - other.latencyMs)
  const middle = sorted.slice(Math.floor(sorted.length * 0.45), Math.ceil(sorted.length * 0.55))
  const usual = summary(middle, {})
  const slowest = sorted.slice(-slowestCount)
  const latencies = sorted.map(({ latencyMs }) => latencyMs)
  const lengths = (kind: Pause["kind"]) =>
    pauses
      .filter((pause) => pause.kind === kind)
      .map(({ from, to }) => to - from)
      .toSorted((one, other) => one - other)
  const pauseKinds = Object.fromEntries(
    (["minor", "other", "turn"] as const).map((kind) => {
      const all = lengths(kind)
      return [
        kind,
        { count: all.length, totalMs: mean(all) * all.length, p99Ms: quantile(all, 0.99), maxMs: all.at(-1) }
      ]
    })
  )
  // Searches within 20 ms of each other are slow for the same reason.
  const moments = slowest.map(({ traced }) => traced.receivedAt).toSorted((one, other) => one - other)
  const moment = moments.filter((at, index) => index === 0 || at - (moments[index - 1] ?? 0) > 20)
  return {
    searches: searches.length,
    latencyMs: { p50: quantile(latencies, 0.5), p95: quantile(latencies, 0.95), p99: quantile(latencies, 0.99) },
    usual,
    slowest: summary(slowest, usual.parts),
    moments: moment.length,
    pauses: pauseKinds
  }
}

export type Report = ReturnType<typeof reportOf>

const tableOf = ({ latencyMs, moments, pauses, searches, slowest, usual }: Report): string => {
  const ms = (value: number | undefined) => (value ?? 0).toFixed(1)
  const rows = Object.keys(usual.parts).map(
    (name) => `| ${name} | ${ms(usual.parts[name])} | ${ms(slowest.parts[name])} | ${slowest.largest[name] ?? 0} |`
  )
  return [
    `${searches} searches: p50 ${ms(latencyMs.p50)} ms, p95 ${ms(latencyMs.p95)}, p99 ${ms(latencyMs.p99)}.`,
    `The slowest ${slowestCount} ended in ${moments} moments.`,
    "",
    "| ms | median searches | slowest 100 | the largest excess of |",
    "| --- | ---: | ---: | ---: |",
    ...rows,
    `| whole | ${ms(usual.latencyMs)} | ${ms(slowest.latencyMs)} | |`,
    `| of it, collections of new objects | ${ms(usual.minorGcMs)} | ${ms(slowest.minorGcMs)} | |`,
    `| of it, other collections | ${ms(usual.otherGcMs)} | ${ms(slowest.otherGcMs)} | |`,
    `| longest turn of the event loop | ${ms(usual.longestTurnMs)} | ${ms(slowest.longestTurnMs)} | |`,
    "",
    ...Object.entries(pauses).map(
      ([kind, { count, maxMs, p99Ms, totalMs }]) =>
        `${kind}: ${count}, ${ms(totalMs)} ms together, p99 ${ms(p99Ms)}, longest ${ms(maxMs)}`
    )
  ].join("\n")
}

const number = (text: string | undefined, fallback: number): number => (Number(text) > 0 ? Number(text) : fallback)

const main = Effect.scoped(
  Effect.gen(function* () {
    const { values } = parseArgs({
      options: {
        connections: { type: "string" },
        seconds: { type: "string" },
        "warm-up": { type: "string" },
        json: { type: "string" },
        help: { type: "boolean", default: false }
      }
    })
    if (values.help) return yield* Console.log(usage)
    const loadBefore = load()
    const stage = yield* make(full)
    const { bodies, url } = yield* collector
    const pausesFile = join(yield* folder, "pauses.jsonl")
    const preload = fileURLToPath(new URL("support/pauses.ts", import.meta.url))
    const quarry = yield* quarryReplica(stage.ground, {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url,
      OTEL_TRACES_SAMPLER: "always_on",
      OTEL_BSP_MAX_QUEUE_SIZE: "100000",
      BENCH_PAUSES_FILE: pausesFile,
      NODE_OPTIONS: `${process.env.BENCH_NODE_OPTIONS ?? ""} --import=${preload}`
    })
    const work = { ...distinctSearches(stage, number(values.connections, 64)), urls: [quarry.url], traced: true }
    yield* stage.load.run({ ...work, seconds: number(values["warm-up"], 20) })
    yield* stage.stores.settle
    const { traces = [] } = yield* stage.load.run({ ...work, seconds: number(values.seconds, 10) })
    // Longer than the queue of spans waits.
    yield* Effect.sleep("6 seconds")
    const pauses = existsSync(pausesFile)
      ? readFileSync(pausesFile, "utf8")
          .split("\n")
          .filter((line) => line !== "")
          // The cast holds because only support/pauses.ts writes the file.
          .map((line) => JSON.parse(line) as Pause)
      : []
    const from = Math.min(...traces.map(({ sentAt }) => sentAt))
    const to = Math.max(...traces.map(({ receivedAt }) => receivedAt))
    const within = pauses.filter((pause) => pause.to > from && pause.from < to)
    const report = reportOf(searchesOf(traces, bodies.flatMap(decodeSpans), within), within)
    yield* Console.log(tableOf(report))
    if (values.json !== undefined) {
      const all = { machine: { ...machine(), loadBefore, loadAfter: load() }, ...report }
      writeFileSync(values.json, `${JSON.stringify(all, null, 2)}\n`)
    }
  })
)

if (import.meta.main) NodeRuntime.runMain(main)
