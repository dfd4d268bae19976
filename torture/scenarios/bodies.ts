import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Deferred, Effect, Schedule } from "effect"
import * as Certificates from "../../test/support/servers/Certificates.ts"
import { freshDatabase } from "../../test/support/stores/Database.ts"
import type { Scenario } from "../Scenario.ts"
import * as Engine from "../support/Engine.ts"
import { Findings } from "../support/Findings.ts"
import { attacks, crawl, type Means } from "../support/hostile/bodies/attackers.ts"
import { type BodyName, bodyNames, type Place, placeNames } from "../support/hostile/bodies/hostileBodies.ts"
import * as Neighbor from "../support/hostile/bodies/Neighbor.ts"
import * as MemoryLimit from "../support/MemoryLimit.ts"
import * as Replica from "../support/Replica.ts"
import * as Store from "../support/Store.ts"
import * as Subprocess from "../support/Subprocess.ts"

const limits = {
  /** Of all requests of a case together. */
  growthMib: 100,
  /** Above quiet. Not checked in the short form, which runs on busy machines. */
  meMs: 50,
  pageMs: 1_000,
  processMib: 1024
}

/** Each case is asked for by this many requests at once. */
const atOnce = 2

/** Rows of the short form, which takes a minute. */
const shortCases: ReadonlyArray<readonly [Place, ReadonlyArray<BodyName>]> = [
  ["page", ["br bomb", "small pieces", "deep"]],
  ["robots", ["br bomb", "wide"]],
  ["metadata", ["gzip bomb"]]
]

interface Felt extends Neighbor.Felt {
  readonly place: Place
  readonly body: BodyName
  readonly growthMib: number
  /** Of processor time after the answers, beyond that of quiet. */
  readonly afterMs: number
}

/** A program whose first line of output is returned, and whose other lines are passed on. */
const program = Effect.fnUntraced(function* (path: string, args: ReadonlyArray<string>, onLine = (_: string) => {}) {
  const first = yield* Deferred.make<string>()
  const file = fileURLToPath(new URL(`../support/hostile/${path}.ts`, import.meta.url))
  yield* Subprocess.start("nice", ["-n", "10", process.execPath, file, ...args], {
    onLine: (line) => {
      if (!Deferred.doneUnsafe(first, Effect.succeed(line))) onLine(line)
    }
  })
  return yield* Deferred.await(first)
})

const startSites = Effect.gen(function* () {
  const { authorityFile, certificate } = yield* Certificates.make("DNS:localhost")
  let served = 0
  const ports = yield* program("bodies/bodySite", [certificate.keyFile, certificate.certFile], () => served++)
  const [sitePort = "", securePort = ""] = ports.split(" ")
  const select = (place: Place, body?: BodyName) =>
    Effect.promise(() =>
      fetch(`http://127.0.0.1:${sitePort}/control/${place}${body === undefined ? "" : `/${encodeURIComponent(body)}`}`)
    )
  return {
    authorityFile,
    sitePort,
    securePort,
    select,
    served: () => served,
    ordinaryPort: yield* program("site", ["ordinary"])
  }
})

type Sites = Effect.Success<typeof startSites>

const writeProviders = Effect.fnUntraced(function* (sitePort: string, readers: ReadonlyArray<string>) {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "quarry-torture-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const path = join(directory, "providers.json")
  const url = `http://127.0.0.1:${sitePort}`
  const file = {
    providers: { engine: { type: "searxng", url }, reader: { type: "jina", url } },
    targets: { alpha_search: [{ provider: "engine", engine: "google" }] },
    pages: readers.map((provider) => ({ provider }))
  }
  writeFileSync(path, JSON.stringify(file))
  return path
})

/** The highest value since the last call, of what `look` returns every 50 ms. */
const peakOf = Effect.fnUntraced(function* (look: () => number) {
  let peak = 0
  const take = Effect.sync(() => {
    peak = Math.max(peak, look())
  })
  yield* Effect.forkScoped(Effect.repeat(take, Schedule.spaced("50 millis")))
  return () => {
    const found = peak
    peak = 0
    return found
  }
})

const startServer = Effect.fnUntraced(function* (sites: Sites, place: Place) {
  const database = yield* freshDatabase
  const store = yield* Store.open(database.url)
  const engine = yield* Engine.start
  const server = yield* Replica.start({
    database: database.url,
    engine,
    env: {
      QUARRY_PROVIDERS: yield* writeProviders(sites.sitePort, place === "reader" ? ["direct", "reader"] : ["direct"]),
      NODE_EXTRA_CA_CERTS: sites.authorityFile,
      PAGES_ALLOW_PRIVATE: "true",
      WEBHOOKS_ALLOW_PRIVATE: "true",
      PAGES_TIMEOUT: "5 seconds",
      PROVIDER_TIMEOUT: "5 seconds",
      LOG_LEVEL: "error"
    }
  })
  const isLimited = yield* MemoryLimit.limit(server.pid, limits.processMib * 1024 ** 2)
  const [attacker, neighbor] = yield* Effect.replicateEffect(Store.customer(store, { quota: 1_000_000 }), 2)
  const means: Means = { server, store, ...sites, secret: attacker?.secret ?? "" }
  const other = yield* Neighbor.start({
    port: server.port,
    secret: neighbor?.secret ?? "",
    sitePort: sites.ordinaryPort
  })
  return { means, other, isLimited }
})

interface Quiet extends Neighbor.Felt {
  readonly peakMib: number
  readonly crawlMib: number
  /** Processor time of the server, in milliseconds a second. */
  readonly cpuShare: number
}

/** Runs the cases of a place against its own server. */
const tryPlace = Effect.fnUntraced(function* (
  sites: Sites,
  place: Place,
  bodies: ReadonlyArray<BodyName>,
  { afterSeconds, quietSeconds }: { readonly quietSeconds: number; readonly afterSeconds: number }
) {
  const findings = yield* Findings
  const { isLimited, means, other } = yield* startServer(sites, place)
  const { server } = means
  const crawlers = new Set<number>()
  const serverPeak = yield* peakOf(() => Subprocess.residentMib(server.pid) ?? 0)
  const crawlPeak = yield* peakOf(() => Math.max(0, ...Array.from(crawlers, (pid) => Subprocess.residentMib(pid) ?? 0)))
  const attack =
    place === "crawl" || place === "sitemap"
      ? Effect.scoped(crawl(means, (pid) => crawlers.add(pid)))
      : Effect.scoped(Effect.suspend(() => attacks[place](means)))

  const quietly = Effect.gen(function* () {
    yield* sites.select(place)
    yield* Effect.sleep("3 seconds")
    yield* attack
    other.felt()
    const before = Subprocess.cpuMs(server.pid)
    yield* Effect.sleep(quietSeconds * 1000)
    const cpuShare = (Subprocess.cpuMs(server.pid) - before) / quietSeconds
    const quiet: Quiet = { ...other.felt(), cpuShare, peakMib: serverPeak(), crawlMib: crawlPeak() }
    yield* findings.note(
      `${place}, quiet: /v1/me p99 ${quiet.meP99} ms, page ${quiet.slowestPage} ms at most, ${quiet.peakMib} MiB` +
        `${isLimited ? ` of ${limits.processMib}` : ""}; load ${loadavg()[0]?.toFixed(1)}`
    )
    return quiet
  })

  const tryBody = Effect.fnUntraced(function* (body: BodyName, quiet: Quiet) {
    yield* sites.select(place, body)
    serverPeak()
    yield* Effect.sleep("1 second")
    // What earlier cases and the neighbor's pages left in the heap is not this case's.
    const startMib = Math.max(quiet.peakMib, serverPeak())
    const servedBefore = sites.served()
    const startedAt = performance.now()
    const answers = yield* Effect.all(
      Array.from({ length: atOnce }, () => attack),
      { concurrency: "unbounded" }
    )
    const seconds = (performance.now() - startedAt) / 1000
    const cpuBefore = server.isRunning() ? Subprocess.cpuMs(server.pid) : 0
    yield* Effect.sleep(afterSeconds * 1000)
    if (!server.isRunning()) {
      return yield* Effect.fail(
        new Error(`${place}, ${body}: the server has ended: ${server.said.slice(-5).join("\n")}`)
      )
    }
    if (sites.served() === servedBefore) yield* findings.violation(`${place}, ${body}: nobody asked for it`)
    const felt: Felt = {
      ...other.felt(),
      place,
      body,
      growthMib: Math.max(0, serverPeak() - startMib, crawlPeak() - quiet.crawlMib),
      afterMs: Math.max(0, Math.round(Subprocess.cpuMs(server.pid) - cpuBefore - quiet.cpuShare * afterSeconds))
    }
    yield* findings.note(
      `${place}, ${body}: ${answers.join(" and ")} after ${seconds.toFixed(1)} s; +${felt.growthMib} MiB, ` +
        `/v1/me p99 ${felt.meP99} ms, page ${felt.slowestPage} ms at most, ${felt.lost} lost, ${felt.afterMs} ms of CPU afterwards`
    )
    return felt
  })

  const quiet = yield* quietly
  return { quiet, cases: yield* Effect.forEach(bodies, (body) => tryBody(body, quiet)) }
}, Effect.scoped)

type Tried = Effect.Success<ReturnType<typeof tryPlace>>

/** A row of the table: the worst case for each figure. */
const rowOf = (place: Place, { cases, quiet }: Tried): string => {
  const worst = (figure: (felt: Felt) => number, unit: string): string => {
    const [first] = cases.toSorted((a, b) => figure(b) - figure(a))
    return first === undefined ? "" : `${Math.max(0, figure(first))} ${unit} (${first.body})`
  }
  const cells = [
    place,
    worst(({ growthMib }) => growthMib, "MiB"),
    worst(({ afterMs }) => afterMs, "ms"),
    worst(({ meP99 }) => meP99 - quiet.meP99, "ms"),
    worst(({ slowestPage }) => slowestPage - quiet.slowestPage, "ms")
  ]
  return `| ${cells.join(" | ")} |`
}

const check = Effect.fnUntraced(function* ({ cases, quiet }: Tried, isShort: boolean) {
  const findings = yield* Findings
  for (const { body, growthMib, meP99, place, slowestPage } of cases) {
    const checks: ReadonlyArray<readonly [string, number, number]> = [
      ["MiB of growth", growthMib, limits.growthMib],
      ...(isShort
        ? []
        : ([
            ["ms more for /v1/me", meP99 - quiet.meP99, limits.meMs],
            ["ms more for a page", slowestPage - quiet.slowestPage, limits.pageMs]
          ] as const))
    ]
    for (const [what, value, limit] of checks) {
      if (value > limit) yield* findings.violation(`${place}, ${body}: ${value} ${what}, at most ${limit} may be`)
    }
  }
})

/** `PLACES=page,pdf` in the environment limits the places, and `BODIES=deep` the bodies. */
const chosen = <A extends string>(all: ReadonlyArray<A>, names: string | undefined): ReadonlyArray<A> =>
  names === undefined ? all : all.filter((name) => names.split(",").includes(name))

export const bodies: Scenario = {
  name: "bodies",
  promise: `no body of a stranger's response costs more than ${limits.growthMib} MiB, or delays another account`,
  rounds: 1,
  run: Effect.fnUntraced(function* ({ short }) {
    const findings = yield* Findings
    const sites = yield* startSites
    const { BODIES, PLACES } = process.env
    const cases = short
      ? shortCases
      : chosen(placeNames, PLACES).map((place) => [place, chosen(bodyNames, BODIES)] as const)
    const rows: Array<string> = []
    for (const [place, bodies] of cases) {
      const tried = yield* tryPlace(
        sites,
        place,
        bodies,
        short ? { quietSeconds: 2, afterSeconds: 1 } : { quietSeconds: 15, afterSeconds: 15 }
      )
      rows.push(rowOf(place, tried))
      yield* check(tried, short)
    }
    yield* findings.note(
      "worst of each place, above quiet: memory, CPU afterwards, another account's /v1/me p99 and page"
    )
    for (const row of rows) yield* findings.note(row)
  })
}
