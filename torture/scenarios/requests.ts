import { fileURLToPath } from "node:url"
import { Effect, Random, Redacted } from "effect"
import fc from "fast-check"
import { freshDatabase } from "../../test/support/stores/Database.ts"
import * as EmbeddedStore from "../../test/support/stores/EmbeddedStore.ts"
import type { Scenario } from "../Scenario.ts"
import * as Engine from "../support/Engine.ts"
import * as Exchange from "../support/Exchange.ts"
import { Findings } from "../support/Findings.ts"
import {
  type Document,
  describeRoutes,
  type RandomRequest,
  requestsTo,
  toCurl
} from "../support/hostile/RandomRequests.ts"
import * as RouteList from "../support/hostile/RouteList.ts"
import { creditsOf, faultOf } from "../support/Promises.ts"
import * as Replica from "../support/Replica.ts"
import * as Subprocess from "../support/Subprocess.ts"
import * as Wallet from "../support/Wallet.ts"

const requestsOfRound = 1000
const inFlight = 16
/** Requests shown per kind of fault. The kind is the first `faultCharacters` characters. */
const maxShown = 3
const faultCharacters = 40
const quota = 1_000_000_000

type Env = Readonly<Record<string, string>>

const program = fileURLToPath(new URL("../../src/cli.ts", import.meta.url))

/** Runs an operator command with `--json` and parses its output. */
const operate = Effect.fnUntraced(function* (env: Env, ...words: ReadonlyArray<string>) {
  const said: Array<string> = []
  const tool = yield* Subprocess.start(process.execPath, [program, ...words, "--json"], {
    env,
    onLine: (line) => said.push(line)
  })
  if ((yield* tool.ended) !== 0) return yield* Effect.fail(new Error(`${words.join(" ")}: ${said.join("\n")}`))
  const printed: Readonly<Record<string, unknown>> = JSON.parse(said.find((line) => line.startsWith("{")) ?? "{}")
  return printed
})

/**
 * Creates the session of a user with a high limit. The server on which the user signs up is then stopped, because the
 * operator's tool needs the embedded database for itself.
 */
const makeOwner = Effect.fnUntraced(function* (
  exchange: Exchange.Exchange,
  start: ReturnType<typeof Replica.start>,
  tool: Env
) {
  const server = yield* start
  const { cookie, email } = yield* Wallet.newPerson(Wallet.callerOf(exchange, server.port))
  server.signal("SIGTERM")
  yield* server.ended
  const { account_id } = yield* operate(tool, "account", "show", "--email", email)
  const terms = ["--plan", "custom", "--quota", String(quota), "--concurrency", "10000"]
  yield* operate(tool, "account", "set-plan", "--id", String(account_id), ...terms)
  return cookie
})

/** Starts a server with a high-limit account, and returns functions that send requests and check their effects. */
const openServer = Effect.fnUntraced(function* (storage: Env) {
  const findings = yield* Findings
  const exchange = yield* Exchange.make
  const engine = yield* Engine.start
  const env = { ...storage, ...Wallet.settings, LOG_LEVEL: "error" }
  const database = Redacted.make(storage.DATABASE_URL ?? "")
  const routes = RouteList.make()
  const start = Replica.start({ database, engine, env, onReport: routes.take })

  const tool = { ...storage, ...Replica.secrets }
  const cookie = yield* makeOwner(exchange, start, tool)
  routes.clear()
  const replica = yield* start
  const origin = `http://localhost:${replica.port}`
  const call = Wallet.callerOf(exchange, replica.port)
  const wallet = yield* Wallet.make(call, cookie)
  const { json } = yield* call("GET", "/openapi.json", undefined)
  const document: Document = json // The server's own document.
  const requests = requestsTo(describeRoutes(document, routes.listed()), document)

  const creditsLeft = Effect.map(call("GET", "/v1/me", undefined, cookie), ({ json }): number => json.credits_available)

  const faults = new Map<string, number>()
  const round = Effect.fnUntraced(function* (seed: number) {
    const before = yield* creditsLeft
    const spare = yield* Wallet.makeSpare(call, cookie)
    const disposable = yield* Wallet.newPerson(call)
    const statuses = new Map<number | undefined, number>()
    let credits = 0
    const one = Effect.fnUntraced(function* (random: RandomRequest) {
      const request = Wallet.withSpare(random, spare)
      const headers = Wallet.headersOf(request, { wallet, origin, disposable: disposable.cookie })
      const reply = yield* exchange(replica.port, request, headers)
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
      if (!request.as.includes("marketplace")) credits += creditsOf(request, reply)
      const fault = faultOf({ ...request, headers }, reply)
      if (fault === undefined) return
      const kind = fault.slice(0, faultCharacters)
      const seen = (faults.get(kind) ?? 0) + 1
      faults.set(kind, seen)
      if (seen <= maxShown) yield* findings.violation(`${fault}\n    ${toCurl(request, origin)}`)
    })
    yield* Effect.forEach(fc.sample(requests, { seed, numRuns: requestsOfRound }), one, {
      concurrency: inFlight,
      discard: true
    })
    const charged = before - (yield* creditsLeft)
    if (charged !== credits)
      yield* findings.violation(`seed ${seed}: ${charged} credits were charged, callers were told of ${credits}`)
    if (!replica.isRunning()) yield* findings.violation(`the process has ended: ${replica.said.slice(-5).join("\n")}`)
    yield* Wallet.removeOthers(call, cookie)
    return { statuses, credits }
  })

  /** Stops the server and verifies its books. */
  const close = Effect.gen(function* () {
    replica.signal("SIGTERM")
    yield* replica.ended
    const { discrepancies, ok } = yield* operate(tool, "ledger", "verify")
    if (ok !== true) yield* findings.violation(`ledger verify: ${JSON.stringify(discrepancies)}`)
  })
  return { round, close, faults }
})

export const requests: Scenario = {
  name: "requests",
  promise: `rounds of ${requestsOfRound} generated requests, on Postgres and embedded by turns, are all answered, none by a 5xx but 502 and 504 of searches and 503 of purchases, and only what was told is charged`,
  rounds: 100,
  run: Effect.fnUntraced(function* ({ rounds }) {
    const findings = yield* Findings
    const database = yield* freshDatabase
    const servers = [
      yield* openServer({ DATABASE_URL: Redacted.value(database.url) }),
      yield* openServer({ DATABASE_URL: "", DATA_DIR: yield* EmbeddedStore.directoryWith(Replica.secrets) })
    ]
    const statuses = new Map<number | undefined, number>()
    let credits = 0
    for (let round = 0; round < rounds; round++) {
      const seed = yield* Random.nextIntBetween(0, 2 ** 31 - 1)
      const done = yield* servers[round % servers.length]?.round(seed) ?? Effect.die("there are servers")
      credits += done.credits
      for (const [status, count] of done.statuses) statuses.set(status, (statuses.get(status) ?? 0) + count)
    }
    for (const { close, faults } of servers) {
      for (const [kind, count] of faults) yield* findings.note(`${count} times: ${kind}`)
      yield* close
    }
    const counts = [...statuses].sort().map(([status, count]) => `${status ?? "no answer"}: ${count}`)
    yield* findings.note(`${rounds * requestsOfRound} requests (${counts.join(", ")}), ${credits} credits`)
  })
}
