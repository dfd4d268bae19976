import { randomUUID } from "node:crypto"
import { fileURLToPath } from "node:url"
import { Deferred, Effect, Fiber, type Scope } from "effect"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import type { Answer } from "../support/Client.ts"
import { Findings } from "../support/Findings.ts"
import type { FloodMeans, floods } from "../support/hostile/floods.ts"
import type { Manner } from "../support/hostile/receiver.ts"
import * as Webhooks from "../support/hostile/Webhooks.ts"
import * as Pace from "../support/Pace.ts"
import type { Replica } from "../support/Replica.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"
import * as Subprocess from "../support/Subprocess.ts"

const perSecond = 100
const phaseSeconds = 20
/** Quiet and attacked phases take turns. Medians keep one pause of the machine from deciding the comparison. */
const turns = 3
/** Time for Node to compile hot code. */
const warmUpSeconds = 3
/** Maximum increase of an honest customer's p99 during an attack. */
const maxRiseMs = 20
/** Maximum time from the commit of an honest customer's event to its arrival. */
const maxEventMs = 5_000
const demoOrigin = "https://demo.test"

/** A database, an engine and a server for a single attack. */
type Scene = Effect.Success<ReturnType<typeof Stage.make>> & { readonly server: Replica }

interface Running {
  readonly processes: ReadonlyArray<Subprocess.Subprocess>
  /** Describes what the attack did, once it has ended by itself. */
  readonly outcome: Effect.Effect<string>
}

interface Attack {
  readonly name: string
  /**
   * `isHarmless` starts the same processes with as many requests or events, but without doing harm. Their effect on the
   * customer is the attacker's own CPU time.
   */
  readonly start: (scene: Scene, seconds: number, isHarmless: boolean) => Effect.Effect<Running, unknown, Scope.Scope>
}

/** Starts a program of `support/` and reads its first line of output. Attackers run with the lowest priority. */
const program = Effect.fnUntraced(function* (
  name: string,
  argument: string,
  options: { readonly isAttacker: boolean; readonly onLine?: (line: string) => void }
) {
  const first = yield* Deferred.make<string>()
  const file = fileURLToPath(new URL(`../support/hostile/${name}.ts`, import.meta.url))
  const [command, ...args] = [...(options.isAttacker ? ["nice", "-n", "19"] : []), process.execPath, file, argument]
  const subprocess = yield* Subprocess.start(command ?? "", args, {
    onLine: (line) => {
      if (!Deferred.doneUnsafe(first, Effect.succeed(line))) options.onLine?.(line)
    }
  })
  return { subprocess, first: Deferred.await(first) }
})

/** Signs up like any stranger. The trial account has a key, a session, and webhooks to `hooks`. */
const signUp = (server: Replica, hooks: ReadonlyArray<string>) =>
  Effect.tryPromise(async (): Promise<FloodMeans> => {
    let cookie = ""
    const post = async (path: string, body: unknown): Promise<{ readonly id: string; readonly secret: string }> => {
      const headers = { "content-type": "application/json", origin: `http://localhost:${server.port}`, cookie }
      const response = await fetch(`${server.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
      cookie ||= response.headers.getSetCookie()[0]?.split(";", 1).join("") ?? ""
      // The responses that are read have both fields.
      return (await response.json()) as { readonly id: string; readonly secret: string }
    }
    const email = `${randomUUID()}@attacker.test`
    await post("/api/auth/sign-up/email", { email, password: "correct horse battery staple", name: "A Stranger" })
    const { secret } = await post("/v1/api-keys", { name: "trial" })
    const webhooks: Array<string> = []
    for (const url of hooks) webhooks.push((await post("/v1/webhooks", { url })).id)
    return { port: server.port, secret, cookie, demoOrigin, webhooks }
  })

const flood = Effect.fnUntraced(function* (
  name: keyof typeof floods,
  means: FloodMeans,
  seconds: number,
  isHarmless: boolean
) {
  const argument = JSON.stringify({ ...means, flood: name, isHarmless, seconds })
  const { first, subprocess } = yield* program("flooder", argument, { isAttacker: true })
  const running: Running = { processes: [subprocess], outcome: first }
  return running
})

const requestFlood = (title: string, name: keyof typeof floods): Attack => ({
  name: title,
  start: ({ server }, seconds, isHarmless) =>
    Effect.flatMap(signUp(server, []), (means) => flood(name, means, seconds, isHarmless))
})

const maxWebhooks = 10

const interimFlood: Attack = {
  name: "receivers that answer test events with 1xx without end",
  start: Effect.fnUntraced(function* ({ server }, seconds, isHarmless) {
    const manner: Manner = isHarmless ? "busy" : "interim"
    const receiver = yield* program("receiver", manner, { isAttacker: true })
    const port = yield* receiver.first
    const hooks = Array.from({ length: maxWebhooks }, (_, n) => `http://127.0.3.1:${port}/${n}`)
    const { outcome, processes } = yield* flood("testEvents", yield* signUp(server, hooks), seconds, isHarmless)
    return { processes: [...processes, receiver.subprocess], outcome }
  })
}

/** Deliveries that are due at once: more than a single query of the queue returns. */
const queued = 3_000

/** Creates an account with webhooks to `port`, and adds events until `deliveries` are due. */
const fillQueue = Effect.fnUntraced(function* (store: Store.Store, address: string, port: string, deliveries: number) {
  const { id } = yield* store.accounts.create({ email: `${randomUUID()}@attacker.test`, plan: "trial" })
  for (let n = 0; n < maxWebhooks; n++) yield* Webhooks.add(store, id, `http://${address}:${port}/${n}`)
  for (let made = 0; made < deliveries; made += 2 * maxWebhooks) {
    const { key } = yield* store.keys.create(id, { label: "a", mode: "test" })
    yield* store.keys.revoke(key.id)
  }
})

const silentReceivers = (accounts: number): Attack => ({
  name: `${accounts === 1 ? "one account's" : `${accounts} accounts'`} receivers that never answer, ${queued} deliveries due`,
  start: Effect.fnUntraced(function* ({ store }, _seconds, isHarmless) {
    const manner: Manner = isHarmless ? "prompt" : "silent"
    let received = 0
    const receiver = yield* program("receiver", manner, { isAttacker: true, onLine: () => received++ })
    const port = yield* receiver.first
    yield* Effect.forEach(
      Array.from({ length: accounts }).keys(),
      (n) => fillQueue(store, `127.0.3.${n + 1}`, port, queued / accounts),
      { concurrency: 4 }
    )
    return { processes: [receiver.subprocess], outcome: Effect.sync(() => `${received} posts received`) }
  })
})

const pagesAtOnce = 50

const hostilePages: Attack = {
  name: `${pagesAtOnce} pages read at once that are as expensive as pages can be`,
  start: Effect.fnUntraced(function* ({ server, store }, seconds, isHarmless) {
    const site = yield* program("site", isHarmless ? "ordinary" : "hostile", { isAttacker: true })
    const sitePort = yield* site.first
    const readers = yield* Effect.replicateEffect(Store.customer(store, { quota: 1_000_000 }), 10)
    const secrets = readers.map(({ secret }) => secret)
    const argument = JSON.stringify({ port: server.port, secrets, sitePort, seconds, atOnce: pagesAtOnce })
    const { first, subprocess } = yield* program("reader", argument, { isAttacker: true })
    return { processes: [site.subprocess, subprocess], outcome: first }
  })
}

const attacks: ReadonlyArray<Attack> = [
  requestFlood("query strings of 15 kB that repeat one parameter", "queryStrings"),
  requestFlood("forms of 1 MB that repeat one field", "forms"),
  interimFlood,
  silentReceivers(1),
  silentReceivers(20),
  requestFlood("bodies of 1 MB of invalid values", "bodies"),
  hostilePages
]

/**
 * Adds an event of an honest account every second. Returns how long each took to arrive, or Infinity if it was too
 * late.
 */
const measureEvents = Effect.fnUntraced(function* (store: Store.Store, seconds: number) {
  const arrivals = new Map<string, number>()
  const receiver = yield* program("receiver", "prompt" satisfies Manner, {
    isAttacker: false,
    onLine: (line) => {
      const id = /key_[0-9a-f]{32}/.exec(line)?.[0]
      if (id !== undefined && !arrivals.has(id)) arrivals.set(id, performance.now())
    }
  })
  const port = yield* receiver.first
  const { accountId } = yield* Store.customer(store, { quota: 1 })
  yield* Webhooks.add(store, accountId, `http://127.0.0.1:${port}/`)
  return Effect.gen(function* () {
    const made = new Map<string, number>()
    for (let n = 0; n < seconds; n++) {
      const { key } = yield* store.keys.create(accountId, { label: `event ${n}`, mode: "test" })
      made.set(key.id, performance.now())
      yield* Effect.sleep("1 second")
    }
    const deadline = performance.now() + maxEventMs
    while (arrivals.size < made.size && performance.now() < deadline) yield* Effect.sleep("50 millis")
    return Array.from(made, ([id, at]) => (arrivals.get(id) ?? Number.POSITIVE_INFINITY) - at)
  })
})

/** What the honest customer experienced in one phase. */
interface Phase {
  readonly answers: ReadonlyArray<Answer>
  readonly slowestEventMs: number
  /** Shares of one core. */
  readonly serverCpu: number
  readonly attackerCpu: number
  readonly outcome: string
}

const nobody: Running = { processes: [], outcome: Effect.succeed("") }

/** Runs 100 searches and one event per second, together with what `start` starts. */
const phase = <E>(
  scene: Scene,
  customers: ReadonlyArray<Store.Customer>,
  seconds: number,
  start: Effect.Effect<Running, E, Scope.Scope>
) =>
  Effect.gen(function* () {
    const { client, server, store } = scene
    const measure = yield* measureEvents(store, seconds)
    const attack = yield* start
    const events = yield* Effect.forkChild(measure)
    const cpu = () => [server.pid, ...attack.processes.map(({ pid }) => pid)].map(cpuOf)
    const [before, startedAt] = [cpu(), performance.now()]
    const answers = yield* Pace.run({ client, replicas: [server], customers, perSecond, seconds })
    const tookMs = performance.now() - startedAt
    const [serverCpu = 0, ...attackers] = cpu().map((ms, index) => Math.max(0, ms - (before[index] ?? 0)) / tookMs)
    const times = yield* Fiber.join(events)
    const outcome = yield* attack.outcome
    const felt: Phase = {
      answers,
      slowestEventMs: Math.round(Math.max(...times)),
      serverCpu,
      attackerCpu: attackers.reduce((sum, share) => sum + share, 0),
      outcome
    }
    return felt
  }).pipe(Effect.scoped)

/** Zero for a process that has ended. */
const cpuOf = (pid: number): number => {
  try {
    return Subprocess.cpuMs(pid)
  } catch {
    return 0
  }
}

const lost = ({ answers }: Phase): number => answers.filter(({ status }) => status !== 200).length

const percent = (share: number): string => `${Math.round(share * 100)} %`

const eventText = (ms: number): string => (Number.isFinite(ms) ? `${ms} ms` : `not within ${maxEventMs} ms`)

const describePhase = (name: string, phase: Phase): string =>
  [
    `${name}: p50 ${Pace.p50(phase.answers)} ms, p99 ${Pace.p99(phase.answers)} ms (${Audit.tally(phase.answers)})`,
    `slowest event ${eventText(phase.slowestEventMs)}`,
    `CPU ${percent(phase.serverCpu)} server, ${percent(phase.attackerCpu)} attacker`,
    ...(phase.outcome === "" ? [] : [phase.outcome])
  ].join("; ")

/** The median over the phases of one kind. */
const median = (phases: ReadonlyArray<Phase>, measure: (answers: ReadonlyArray<Answer>) => number): number => {
  const sorted = phases.map(({ answers }) => measure(answers)).toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

const slowestEvent = (phases: ReadonlyArray<Phase>): number =>
  Math.max(...phases.map(({ slowestEventMs }) => slowestEventMs))

const row = (name: string, kinds: ReadonlyArray<ReadonlyArray<Phase>>): string =>
  [
    `| ${name}`,
    ...kinds.map((phases) => `${median(phases, Pace.p50)} / ${median(phases, Pace.p99)}`),
    kinds.map((phases) => phases.reduce((sum, phase) => sum + lost(phase), 0)).join(" / "),
    `${kinds.map((phases) => eventText(slowestEvent(phases))).join(" / ")} |`
  ].join(" | ")

const feel = Effect.fnUntraced(function* (attack: Attack, options: { readonly short: boolean }) {
  const findings = yield* Findings
  yield* findings.note(attack.name)
  const env = {
    DEMO_ORIGIN: demoOrigin,
    COMPAT: "searxng,tavily,perplexity",
    WEBHOOKS_ALLOW_PRIVATE: "true",
    PAGES_ALLOW_PRIVATE: "true"
  }
  const stage = yield* Stage.make({ replicas: 1, env: { ...env, PROVIDER_TIMEOUT: "15 seconds", LOG_LEVEL: "error" } })
  const [server] = stage.replicas
  if (server === undefined) return yield* Effect.die(new Error("there is no server"))
  const scene: Scene = { ...stage, server }
  const customers = yield* Effect.replicateEffect(Store.customer(stage.store, { quota: 1_000_000 }), 5)
  const seconds = options.short ? 3 : phaseSeconds
  const run = Effect.fnUntraced(function* (name: string, start: Effect.Effect<Running, unknown, Scope.Scope>) {
    const felt = yield* phase(scene, customers, seconds, start)
    yield* findings.note(describePhase(`  ${name}`, felt))
    return felt
  })
  yield* Pace.run({ ...scene, replicas: [server], customers, perSecond, seconds: warmUpSeconds })
  const harmless = [yield* run("harmless", attack.start(scene, seconds, true))]
  const quiet: Array<Phase> = []
  const attacked: Array<Phase> = []
  for (let turn = 0; turn < (options.short ? 1 : turns); turn++) {
    quiet.push(yield* run("quiet", Effect.succeed(nobody)))
    attacked.push(yield* run("attacked", attack.start(scene, seconds, false)))
  }

  const rise = median(attacked, Pace.p99) - median(quiet, Pace.p99)
  const unanswered = attacked.reduce((sum, phase) => sum + lost(phase), 0)
  if (unanswered > 0) yield* findings.violation(`${attack.name}: ${unanswered} searches were not answered 200`)
  if (!options.short && rise > maxRiseMs)
    yield* findings.violation(`${attack.name}: p99 rose by ${rise} ms, at most ${maxRiseMs} ms may be`)
  if (!options.short && slowestEvent(attacked) > maxEventMs)
    yield* findings.violation(`${attack.name}: an event arrived ${eventText(slowestEvent(attacked))}`)
  return row(attack.name, [quiet, harmless, attacked])
}, Effect.scoped)

export const neighbors: Scenario = {
  name: "neighbors",
  promise: `no attack by a stranger or a trial account raises an honest customer's p99 at ${perSecond} searches a second by more than ${maxRiseMs} ms, nor delays an event by more than ${maxEventMs / 1000} s`,
  rounds: 1,
  run: Effect.fnUntraced(function* ({ rounds, short }) {
    const findings = yield* Findings
    const only = process.env.ATTACKS?.split(",").map(Number)
    const chosen = attacks.filter((_, index) => only === undefined || only.includes(index + 1))
    const runs = Array.from({ length: rounds }, () => chosen).flat()
    const rows = yield* Effect.forEach(runs, (attack) => feel(attack, { short }))
    yield* findings.note("")
    yield* findings.note("| Attack | quiet p50 / p99 | harmless | attacked | lost | slowest event |")
    yield* findings.note("| --- | --- | --- | --- | --- | --- |")
    for (const line of rows) yield* findings.note(line)
  })
}
