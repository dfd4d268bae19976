import { createHash } from "node:crypto"
import { Effect } from "effect"
import { Findings } from "../Findings.ts"
import { type Framing, framings, type Target } from "../hostile/framings.ts"
import { hostileRequests } from "../hostile/hostileShapes.ts"
import { type ListenerName, type RandomRequest, toCurl } from "../hostile/RandomRequests.ts"
import * as RawExchange from "../hostile/RawExchange.ts"
import { creditsOf, faultOf, headerBytes, searchesOf } from "../Promises.ts"
import * as Wallet from "../Wallet.ts"
import type { CostServer } from "./CostServer.ts"
import type * as Costs from "./Costs.ts"

/* Requests that `Costs.ts` can send repeatedly. Each reports what is wrong with its response. */

/** For a response, on a loaded machine. */
const patienceMs = 60_000

/** Makes `Exchange` reuse connections. */
const sharedConnection = 1

let clients = 0

const nextClientAddress = (): string => {
  const n = ++clients
  return `10.${(n >> 16) % 250}.${(n >> 8) % 250}.${1 + (n % 250)}`
}

export const makeTally = () => ({
  /** Counts by status. "cut" counts connections without a response. */
  statuses: new Map<string, number>(),
  /** Credits used, according to the responses. */
  credits: 0,
  /** Counts of faults by kind. */
  faults: new Map<string, number>()
})

export type Tally = ReturnType<typeof makeTally>

export interface Round {
  readonly server: CostServer
  readonly tally: Tally
  /** Leaves out the largest size of requests that are not in every run. */
  readonly short: boolean
  readonly spare: Wallet.Spare
  /** A session of an account that may be deleted. */
  readonly disposable: string
}

/** Faults reported per kind. */
const maxReported = 3

/** A fault's kind is its prefix of this length. */
const kindCharacters = 40

const reportFault = Effect.fnUntraced(function* ({ tally }: Round, fault: string | undefined, name: string) {
  if (fault === undefined) return
  const kind = fault.slice(0, kindCharacters)
  const seen = (tally.faults.get(kind) ?? 0) + 1
  tally.faults.set(kind, seen)
  if (seen <= maxReported) yield* (yield* Findings).violation(`${fault}\n    ${name}`)
})

const countStatus = ({ tally }: Round, status: string): void => {
  tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1)
}

/** Two per request, for two requests: a report may arrive while the next request is sent. */
const maxHashes = 4

/** Characters shown of each part of a hostile request, whose shape describes the rest. */
const shownCharacters = 100

/** `/metrics` formats every series of the process for any request. */
const extraMsOf = ({ listener, path }: RandomRequest): number =>
  listener === "private" && path.startsWith("/metrics") ? 100 : 0

const unanswered = (name: string): Error => new Error(`no response within ${patienceMs / 1000} s: ${name}`)

/** Makes a unit of a request that an HTTP client can send. `shape` describes its hostile part. */
export const ofRequest = (round: Round, template: RandomRequest, shape?: string): Costs.Unit => {
  const { exchange, hashCount, ports, replica, wallet } = round.server
  const origin = `http://localhost:${replica.port}`
  const request = Wallet.withSpare(template, round.spare)
  const own = Wallet.headersOf(request, { wallet, origin, disposable: round.disposable })
  const hasAddress = own.some(([name]) => name === "x-forwarded-for")
  const bytes = headerBytes({ ...request, headers: own }) + (request.body?.length ?? 0)
  const curl = toCurl(
    request,
    `http://localhost:${ports[request.listener]}`,
    shape === undefined ? 500 : shownCharacters
  )
  const name = shape === undefined ? curl : `${shape}, ${bytes} bytes: ${curl}`
  const send = Effect.gen(function* () {
    const hashesBefore = hashCount()
    const headers = hasAddress ? own : [...own, ["x-forwarded-for", nextClientAddress()] as const]
    const reply = yield* exchange(ports[request.listener], { ...request, from: sharedConnection }, headers).pipe(
      Effect.timeoutOrElse({ duration: patienceMs, orElse: () => Effect.fail(unanswered(name)) })
    )
    const status = reply.status === undefined ? "cut" : String(reply.status)
    countStatus(round, status)
    round.tally.credits += creditsOf(request, reply)
    yield* reportFault(round, faultOf({ ...request, headers }, reply), name)
    const hashes = hashCount() - hashesBefore
    if (hashes > maxHashes) yield* reportFault(round, `${hashes} password hashes`, name)
    return { status, bytes: reply.bytes, searches: searchesOf(request, reply) }
  })
  return { name, bytes, requests: 1, extraMs: extraMsOf(request), send }
}

/** A route whose requests are sent with broken framing. */
interface FramedRoute {
  readonly method: string
  readonly path: string
  readonly listener: ListenerName
  readonly isAuthorized: boolean
  readonly type: string | undefined
  readonly body: string
}

const json = "application/json"

/** Routes that differ in how they read a body. */
const framedRoutes: ReadonlyArray<FramedRoute> = [
  { method: "GET", path: "/v1/me", listener: "public", isAuthorized: true, type: undefined, body: "" },
  {
    ...{ method: "POST", path: "/v1/bulk", listener: "public", isAuthorized: true, type: json },
    body: '{"queries":["effect"]}'
  },
  {
    ...{ method: "POST", path: "/api/auth/sign-in/email", listener: "public", isAuthorized: false, type: json },
    body: '{"email":"a@a.test","password":"wrong"}'
  },
  {
    ...{ method: "POST", path: "/compat/searxng/search", listener: "public", isAuthorized: true },
    ...{ type: "application/x-www-form-urlencoded", body: "q=effect" }
  },
  { method: "GET", path: "/healthz", listener: "private", isAuthorized: false, type: undefined, body: "" }
]

const faultOfReplies = (framing: Framing, listener: ListenerName, { end, replies }: RawExchange.RawExchange) => {
  // Node closes a CONNECT for which a server has no handler.
  const mayBeUnanswered = framing.mayBeUnanswered ?? (listener === "private" && framing.name === "a tunnel")
  if (replies.length === 0 && !mayBeUnanswered) return `no response (${end})`
  // 504: the upstream may be too slow on a loaded machine.
  const wrong = replies.find(({ status }) => status >= 500 && status !== 504)
  if (wrong !== undefined) return `${wrong.status} ${wrong.text.slice(0, 200)}`
  const anonymous = replies.find(({ headers }) => headers["x-request-id"] === undefined)
  return anonymous !== undefined && listener === "public" ? `${anonymous.status} without X-Request-Id` : undefined
}

const targetOf = ({ ports, wallet }: CostServer, route: FramedRoute): Target => {
  const lines = [
    ["host", `localhost:${ports[route.listener]}`],
    ["x-forwarded-for", nextClientAddress()],
    ...(route.type === undefined ? [] : [["content-type", route.type]]),
    ...(route.isAuthorized ? wallet.live : [])
  ]
  return { ...route, lines: lines.map(([name, value]) => `${name}: ${value}\r\n`).join("") }
}

const ofFraming = (round: Round, framing: Framing, route: FramedRoute, size: number): Costs.Unit => {
  const { server, tally } = round
  const example = targetOf(server, route)
  const bytes = framing.of(example, size).length
  const name = `${framing.name}, ${bytes} bytes: ${route.method} ${route.path}`
  const send = Effect.gen(function* () {
    const text = framing.of(targetOf(server, route), size)
    const exchange = yield* RawExchange.send(server.ports[route.listener], Buffer.from(text, "latin1"), {
      ends: framing.ends === true,
      patienceMs
    })
    if (exchange.end === "late") return yield* Effect.fail(unanswered(name))
    const statuses = exchange.replies.length === 0 ? ["cut"] : exchange.replies.map(({ status }) => String(status))
    for (const status of statuses) countStatus(round, status)
    for (const { headers } of exchange.replies) tally.credits += Number(headers["x-credits-used"] ?? 0)
    yield* reportFault(round, faultOfReplies(framing, route.listener, exchange), name)
    return { status: statuses.join(" "), bytes: exchange.bytes, searches: exchange.replies.length }
  })
  const requests = framing.requests?.(example, size) ?? 1
  return { name, bytes, requests, extraMs: framing.extraMs?.(bytes) ?? 0, send }
}

const maxShortBytes = 256_000

/** A hostile request in growing sizes. */
export interface Ladder {
  readonly isInEveryRun: boolean
  readonly name: string
  readonly units: (round: Round) => ReadonlyArray<Costs.Unit>
}

/** Returns all hostile requests to a server, those of every run first. The order of the others is stable. */
export const laddersOf = ({ document, routes }: CostServer): ReadonlyArray<Ladder> => {
  const shaped = routes.flatMap((route) =>
    hostileRequests(route, document.components.schemas).map(
      ({ isInEveryRun, name, of, sizes }): Ladder => ({
        isInEveryRun,
        name: `${name} at ${route.method} ${route.path}`,
        units: (round) =>
          sizes
            .filter((size) => !round.short || isInEveryRun || size <= maxShortBytes)
            .map((size) => ofRequest(round, of(size), name))
      })
    )
  )
  const framed = framings.flatMap((framing) =>
    framedRoutes.map(
      (route): Ladder => ({
        isInEveryRun: true,
        name: `${framing.name} at ${route.method} ${route.path}`,
        units: (round) => framing.sizes.map((size) => ofFraming(round, framing, route, size))
      })
    )
  )
  const keyed = [...framed, ...shaped].map((ladder) => ({
    ladder,
    key: (ladder.isInEveryRun ? "0" : "1") + createHash("sha1").update(ladder.name).digest("hex")
  }))
  return keyed.sort((one, other) => (one.key < other.key ? -1 : 1)).map(({ ladder }) => ladder)
}
