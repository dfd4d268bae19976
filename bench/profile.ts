import { execFile } from "node:child_process"
import { existsSync, readFileSync, rmSync } from "node:fs"
import type { HeapProfiler, Profiler, Runtime } from "node:inspector"
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect, Fiber } from "effect"
import { distinctSearches } from "./scenarios/search.ts"
import { profileFiles } from "./support/profiler.ts"
import { measure } from "./support/Runs.ts"
import { full } from "./support/Scale.ts"
import { make } from "./support/Stage.ts"
import { query } from "./support/Stores.ts"

/*
 * Where the time and the memory of a search go: CPU time and allocations by part, system calls, and statements. Profiling
 * costs CPU time itself, so compare the parts with each other, and not with the benchmark.
 */

const usage = `npx node bench/profile.ts [--subject quarry|baseline|floor] [--rows N] [--seconds N]

Profiles single searches, or with --rows the rows of batches. The system calls need Debian's strace.`

/** Parts by the innermost frame that matches. */
const parts: ReadonlyArray<readonly [name: string, file: RegExp]> = [
  ["results: rank, encode", /domain\/search\/(?:Organic|Ranking)\.ts|domain\/text\.ts|tldts|entities/],
  ["HTTP client", /undici|layers\/(?:outgoing|providers)\//],
  ["Redis", /ioredis|redis-parser|layers\/redis\//],
  ["Postgres", /sql-pg|\/pg\/|pg-protocol|pg-pool|layers\/sql\//],
  ["Effect", /\/effect\/dist\/(?!http)/],
  ["HTTP server and log", /effect\/dist\/http|platform-node|src\/http\/|process\/Logging|fastify|find-my-way|pino/],
  ["other code of the service", /src\/|bench\//]
]

/** Frames without a file, which V8 names itself. */
const ofV8: ReadonlyMap<string, string> = new Map([
  ["(idle)", "idle"],
  ["(garbage collector)", "garbage collector"],
  ["(program)", "Node"]
])

/** `frames` begin with the innermost. */
const partOf = (frames: ReadonlyArray<Runtime.CallFrame>): string => {
  const [inner] = frames
  const known = inner === undefined ? undefined : ofV8.get(inner.functionName)
  if (known !== undefined) return known
  for (const { url } of frames) {
    const part = parts.find(([, file]) => file.test(url))
    if (part !== undefined) return part[0]
  }
  return "Node"
}

type Sums = Map<string, number>

const add = (sums: Sums, name: string, value: number) => sums.set(name, (sums.get(name) ?? 0) + value)

/** Microseconds by part. */
const cpuParts = ({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Sums => {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ children = [], id }) => children.map((child) => [child, id] as const)))
  const framesOf = (id: number): ReadonlyArray<Runtime.CallFrame> => {
    const frames: Array<Runtime.CallFrame> = []
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = byId.get(at)?.callFrame
      if (frame !== undefined) frames.push(frame)
    }
    return frames
  }
  const partsById = new Map(nodes.map(({ id }) => [id, partOf(framesOf(id))]))
  const sums: Sums = new Map()
  for (const [index, id] of samples.entries()) add(sums, partsById.get(id) ?? "Node", timeDeltas[index] ?? 0)
  return sums
}

/** Bytes by part. */
const heapParts = ({ head }: HeapProfiler.SamplingHeapProfile): Sums => {
  const sums: Sums = new Map()
  const visit = (node: HeapProfiler.SamplingHeapProfileNode, outer: ReadonlyArray<Runtime.CallFrame>): void => {
    const frames = [node.callFrame, ...outer]
    add(sums, partOf(frames), node.selfSize)
    for (const child of node.children) visit(child, frames)
  }
  visit(head, [])
  return sums
}

const table = (heading: string, sums: Iterable<readonly [string, number]>, searches: number, digits: number): string =>
  [
    `| ${heading} | a search |`,
    "| --- | ---: |",
    ...Array.from(sums)
      .map(([name, value]) => [name, value / searches] as const)
      .filter(([, value]) => value >= 0.5 * 10 ** -digits)
      .toSorted(([, one], [, other]) => other - one)
      .map(([name, value]) => `| ${name} | ${value.toFixed(digits)} |`),
    ""
  ].join("\n")

/** Waits for a file and reads its JSON. The cast holds because support/profiler.ts wrote it. */
const written = <Profile>(file: string): Effect.Effect<Profile> =>
  Effect.gen(function* () {
    while (!existsSync(file)) yield* Effect.sleep("100 millis")
    const profile = JSON.parse(readFileSync(file, "utf8")) as Profile
    rmSync(file)
    return profile
  })

/** Calls by name while strace runs. Empty without strace. */
const systemCalls = (pid: number, seconds: number) =>
  Effect.callback<Sums>((resume) => {
    const args = ["-s", "INT", String(seconds), "strace", "-f", "-c", "-U", "name,calls", "-p", String(pid)]
    execFile("timeout", args, (_error, _out, report) => {
      const rows = report.matchAll(/^(\w+)\s+(\d+)$/gm)
      const sums: Sums = new Map()
      for (const [, name = "", calls] of rows) if (name !== "total") sums.set(name, Number(calls))
      resume(Effect.succeed(sums))
    })
  })

interface Statement {
  readonly query: string
  readonly calls: string
  readonly ms: number
}

const statements = `select left(regexp_replace(query, '\\s+', ' ', 'g'), 60) as query, calls, total_exec_time as ms
  from pg_stat_statements where query !~* '^(?:select pg_stat|checkpoint|alter|create)' order by ms desc limit 10`

const subjects = ["quarry", "baseline", "floor"] as const

const main = Effect.gen(function* () {
  const { values } = parseArgs({
    options: {
      subject: { type: "string", default: "quarry" },
      rows: { type: "string" },
      seconds: { type: "string", default: "8" },
      help: { type: "boolean", default: false }
    }
  })
  const name = subjects.find((subject) => subject === values.subject)
  if (values.help || name === undefined) return yield* Console.log(usage)
  const seconds = Number(values.seconds)
  process.env.BENCH_NODE_OPTIONS = `--import=${new URL("support/profiler.ts", import.meta.url).pathname}`
  const stage = yield* make(full)
  const { databaseUrl } = name === "baseline" ? stage.baselineGround : stage.ground
  yield* query(databaseUrl, "create extension pg_stat_statements")
  yield* query(
    databaseUrl,
    `alter database ${new URL(databaseUrl).pathname.slice(1)} set pg_stat_statements.track = 'top'`
  )
  const subject = yield* stage[name]
  const [pid = -1] = subject.pids
  const rows = values.rows === undefined ? undefined : Number(values.rows)
  const work = { ...distinctSearches(stage, rows === undefined ? 64 : 8), rows }
  const load = (forSeconds: number) => measure(stage, subject, work, { variant: "", pair: 1, seconds: forSeconds })
  const step = Effect.sync(() => process.kill(pid, "SIGUSR2"))
  const files = profileFiles(pid)

  yield* load(20)
  yield* query(databaseUrl, "select pg_stat_statements_reset()")
  const plain = yield* load(seconds)
  yield* Console.log(`${plain.perSecond.toFixed(0)} searches a second without a profiler\n`)
  const spent = yield* query<Statement>(databaseUrl, statements)
  yield* step
  const profiled = yield* load(seconds)
  yield* step
  const cpu = cpuParts(yield* written<Profiler.Profile>(files.cpu))
  yield* Console.log(table("CPU of the process, µs", cpu, profiled.searches, 1))
  const sampled = yield* load(seconds)
  yield* step
  const heap = heapParts(yield* written<HeapProfiler.SamplingHeapProfile>(files.heap))
  yield* Console.log(table("allocated, bytes", heap, sampled.searches, 0))
  // Longer than the load, so that it sees all of its calls. A process without requests makes few.
  const tracing = yield* Effect.forkChild(systemCalls(pid, seconds + 4))
  yield* Effect.sleep("1 second")
  const traced = yield* load(seconds)
  yield* Console.log(table("system calls", yield* Fiber.join(tracing), traced.searches, 2))
  const ofStatements = (figure: (statement: Statement) => number) =>
    spent.map((statement): readonly [string, number] => [statement.query.replaceAll("|", "\\|"), figure(statement)])
  const us = ofStatements(({ ms }) => ms * 1000)
  yield* Console.log(table("statement, µs in Postgres", us, plain.searches, 1))
  const calls = ofStatements(({ calls }) => Number(calls))
  yield* Console.log(table("statement, calls", calls, plain.searches, 3))
}).pipe(
  Effect.scoped,
  Effect.catchTag("CannotRun", ({ message }) => Console.error(message))
)

if (import.meta.main) NodeRuntime.runMain(main)
