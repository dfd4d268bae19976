import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { CostServer } from "./CostServer.ts"
import type * as Costs from "./Costs.ts"
import { Findings } from "./Findings.ts"
import { type Framing, framings, type Target } from "./framings.ts"
import { hostileRequests } from "./hostileShapes.ts"
import { creditsOf, faultOf, headerBytes, searchesOf } from "./Promises.ts"
import { type ListenerName, type RandomRequest, toCurl } from "./RandomRequests.ts"
import * as RawExchange from "./RawExchange.ts"
import * as Wallet from "./Wallet.ts"

/** For an answer, on a machine that does other work too. */
const patienceMs = 60_000

/** Requests share the connections of one address. Each has a client's address of its own, in a proxy's header. */
const shared = 1

let clients = 0

const clientAddress = (): string => {
  const n = ++clients
  return `10.${(n >> 16) % 250}.${(n >> 8) % 250}.${1 + (n % 250)}`
}

/** What requests came to, and what their callers were told. */
export const makeTally = () => ({
  statuses: new Map<string, number>(),
  credits: 0,
  faults: new Map<string, number>()
})

export type Tally = ReturnType<typeof makeTally>

/** Faults that are told one by one, of each kind. The kind is what so many characters say. */
const maxShown = 3
const kindCharacters = 40

/** What a server's units are made of, for one round. */
export interface Means {
  readonly server: CostServer
  readonly tally: Tally
  readonly spare: Wallet.Spare
  /** The session of somebody who may be deleted. */
  readonly disposable: string
}

const record = Effect.fnUntraced(function* ({ tally }: Means, fault: string | undefined, name: string) {
  if (fault === undefined) return
  const kind = fault.slice(0, kindCharacters)
  const seen = (tally.faults.get(kind) ?? 0) + 1
  tally.faults.set(kind, seen)
  if (seen <= maxShown) yield* (yield* Findings).violation(`${fault}\n    ${name}`)
})

const count = ({ tally }: Means, status: string): void => {
  tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1)
}

/** Of each part of a hostile request, whose shape says the rest. */
const shownCharacters = 100

/** Of a request that hashes a password twice: the second one is what it is compared with. */
const maxHashes = 4

/** The metrics of the whole process are formatted for each reader, of whom there are few. */
const extraMsOf = ({ listener, path }: RandomRequest): number =>
  listener === "private" && path.startsWith("/metrics") ? 100 : 0

const unanswered = (name: string): Error => new Error(`no answer within ${patienceMs / 1000} s: ${name}`)

type Unit = Costs.Unit

/** A request as a client of HTTP sends it. `shape` says what is hostile in it. */
export const ofRequest = (means: Means, random: RandomRequest, shape?: string): Unit => {
  const { exchange, hashes, ports, replica, wallet } = means.server
  const origin = `http://localhost:${replica.port}`
  const request = Wallet.withSpare(random, means.spare)
  const own = Wallet.headersOf(request, { wallet, origin, disposable: means.disposable })
  const bytes = headerBytes({ ...request, headers: own }) + (request.body?.length ?? 0)
  const name =
    shape === undefined
      ? toCurl(request, origin)
      : `${shape}, ${bytes} bytes: ${toCurl(request, origin, shownCharacters)}`
  const send = Effect.gen(function* () {
    const hashesBefore = hashes()
    const hasAddress = own.some(([name]) => name === "x-forwarded-for")
    const headers = hasAddress ? own : [...own, ["x-forwarded-for", clientAddress()] as const]
    const reply = yield* exchange(ports[request.listener], { ...request, from: shared }, headers).pipe(
      Effect.timeoutOrElse({ duration: patienceMs, orElse: () => Effect.fail(unanswered(name)) })
    )
    count(means, reply.status === undefined ? "cut" : String(reply.status))
    means.tally.credits += creditsOf(request, reply)
    yield* record(means, faultOf({ ...request, headers }, reply), name)
    if (hashes() - hashesBefore > maxHashes)
      yield* record(means, `${hashes() - hashesBefore} passwords were hashed`, name)
    return { bytes: reply.bytes, searches: searchesOf(request, reply) }
  })
  return { name, bytes, requests: 1, extraMs: extraMsOf(request), send }
}

/** A request whose frame is broken. */
interface FramedTarget {
  readonly method: string
  readonly path: string
  readonly listener: ListenerName
  readonly isAuthorized: boolean
  readonly type: string | undefined
  readonly body: string
}

const json = "application/json"

/** Those of which each reads its body in another way. */
const targets: ReadonlyArray<FramedTarget> = [
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

/** What is wrong with the answers to a broken frame, whatever is in it. */
const faultOfReplies = (framing: Framing, listener: ListenerName, { end, replies }: RawExchange.RawExchange) => {
  // Node closes a tunnel that nothing takes.
  const mayBeUnanswered = framing.mayBeUnanswered ?? (listener === "private" && framing.name === "a tunnel")
  if (replies.length === 0 && !mayBeUnanswered) return `no answer (${end})`
  // On a loaded machine the upstream may be too slow.
  const wrong = replies.find(({ status }) => status >= 500 && status !== 504)
  if (wrong !== undefined) return `${wrong.status} ${wrong.text.slice(0, 200)}`
  const nameless = replies.find(({ headers }) => headers["x-request-id"] === undefined)
  return nameless !== undefined && listener === "public" ? `${nameless.status} without X-Request-Id` : undefined
}

const ofFraming = (means: Means, framing: Framing, framed: FramedTarget, size: number): Unit => {
  const { ports, wallet } = means.server
  const linesOf = (): string =>
    [
      ["host", `localhost:${ports[framed.listener]}`],
      ["x-forwarded-for", clientAddress()],
      ...(framed.type === undefined ? [] : [["content-type", framed.type]]),
      ...(framed.isAuthorized ? wallet.live : [])
    ]
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("")
  const targetOf = (): Target => ({ ...framed, lines: linesOf() })
  const bytes = framing.of(targetOf(), size).length
  const name = `${framing.name}, ${bytes} bytes: ${framed.method} ${framed.path}`
  const send = Effect.gen(function* () {
    const whole = Buffer.from(framing.of(targetOf(), size), "latin1")
    const exchanged = yield* RawExchange.send(ports[framed.listener], whole, {
      ends: framing.ends === true,
      patienceMs
    })
    if (exchanged.end === "late") return yield* Effect.fail(unanswered(name))
    for (const { headers, status } of exchanged.replies) {
      count(means, String(status))
      means.tally.credits += Number(headers["x-credits-used"] ?? 0)
    }
    if (exchanged.replies.length === 0) count(means, "cut")
    yield* record(means, faultOfReplies(framing, framed.listener, exchanged), name)
    return { bytes: exchanged.bytes, searches: exchanged.replies.length }
  })
  return { name, bytes, requests: framing.requests?.(targetOf(), size) ?? 1, send }
}

/** A hostile request in growing sizes. */
export interface Ladder {
  readonly isInEveryRun: boolean
  readonly name: string
  readonly units: (means: Means) => ReadonlyArray<Unit>
}

/** Every hostile request to every route of a server, in an order that a new route does not change. */
export const laddersOf = ({ document, routes }: CostServer): ReadonlyArray<Ladder> => {
  const shaped = routes.flatMap((route) =>
    hostileRequests(route, document.components.schemas).map(
      ({ isInEveryRun, name, of, sizes }): Ladder => ({
        isInEveryRun,
        name: `${name} at ${route.method} ${route.path}`,
        units: (means) => sizes.map((size) => ofRequest(means, of(size), name))
      })
    )
  )
  const framed = framings.flatMap((framing) =>
    targets.map(
      (target): Ladder => ({
        isInEveryRun: true,
        name: `${framing.name} at ${target.method} ${target.path}`,
        units: (means) => framing.sizes.map((size) => ofFraming(means, framing, target, size))
      })
    )
  )
  const keyed = [...framed, ...shaped].map((ladder) => ({
    ladder,
    key: (ladder.isInEveryRun ? "0" : "1") + createHash("sha1").update(ladder.name).digest("hex")
  }))
  return keyed.sort((one, other) => (one.key < other.key ? -1 : 1)).map(({ ladder }) => ladder)
}
