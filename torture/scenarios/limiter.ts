import { Clock, Effect, Random, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Redis } from "ioredis"
import * as RateLimiterMemory from "../../src/layers/memory/RateLimiterMemory.ts"
import { script } from "../../src/layers/redis/RateLimiterRedis.ts"
import { RateLimiter, windowMs } from "../../src/services/credits/RateLimiter.ts"
import { type RedisServer, redisServer } from "../../test/support/servers/RedisServer.ts"
import type { Scenario } from "../Scenario.ts"
import { Findings } from "../support/Findings.ts"

const arrivalsPerRound = 100_000
/** Short, so that windows roll over many times even if arrivals come as fast as Redis handles them. */
const redisWindowMicros = 20_000
const connections = 4
const inFlight = 64

/** R27 taken literally: counts the admitted requests of one credential in the window before a time. */
class Reference {
  private readonly admitted: Array<number> = []
  private first = 0

  countedAt(now: number, window: number): number {
    for (let at = this.admitted[this.first]; at !== undefined && at <= now - window; at = this.admitted[this.first]) {
      this.first++
    }
    return this.admitted.length - this.first
  }

  admit(now: number): void {
    this.admitted.push(now)
  }
}

const referenceOf = (references: Map<string, Reference>, credential: string): Reference => {
  const known = references.get(credential)
  if (known !== undefined) return known
  const made = new Reference()
  references.set(credential, made)
  return made
}

/** Random gaps between arrivals of 20 credentials with different limits, on a clock that the arrivals advance. */
const inMemory = Effect.fnUntraced(
  function* (arrivals: number) {
    const findings = yield* Findings
    const limiter = yield* RateLimiter
    const references = new Map<string, Reference>()
    let refused = 0
    for (let i = 0; i < arrivals; i++) {
      const gap = yield* Random.nextIntBetween(0, 400)
      if (gap > 200) yield* TestClock.adjust(gap - 200)
      const now = yield* Clock.currentTimeMillis
      const n = yield* Random.nextIntBetween(0, 19)
      const credential = `credential ${n}`
      const limit = 10 + n * 5
      const reference = referenceOf(references, credential)
      const expected = reference.countedAt(now, windowMs) < limit
      const { admitted } = yield* limiter.hit({ credential, limit })
      if (admitted !== expected) yield* findings.violation(`arrival ${i}: ${admitted} and not ${expected}`)
      if (admitted) reference.admit(now)
      else refused++
    }
    yield* findings.note(`in memory: ${arrivals} arrivals, ${refused} refused`)
  },
  Effect.provide([RateLimiterMemory.layer(), TestClock.layer()], { local: true })
)

interface Reply {
  readonly credential: string
  readonly limit: number
  readonly admitted: boolean
  readonly counted: number
  readonly nowMicros: number
}

/**
 * Sends arrivals to Redis, which timestamps them. Sorted by timestamp, those of one credential are in Redis's order.
 */
const askRedis = async (server: RedisServer, picks: ReadonlyArray<number>): Promise<ReadonlyArray<Reply>> => {
  const clients = Array.from({ length: connections }, () => new Redis(Redacted.value(server.url())))
  const replies: Array<Reply> = []
  let next = 0
  const worker = async (client: Redis | undefined) => {
    for (let pick = picks[next++]; pick !== undefined && client !== undefined; pick = picks[next++]) {
      const credential = `credential ${pick}`
      const limit = 5 + pick * 3
      const reply = await client.eval(script, 1, `{${credential}}`, limit, redisWindowMicros)
      if (!Array.isArray(reply)) throw new Error("the script answered no list")
      const [admitted, counted, , nowMicros] = reply.map(Number)
      replies.push({ credential, limit, admitted: admitted === 1, counted: counted ?? 0, nowMicros: nowMicros ?? 0 })
    }
  }
  await Promise.all(Array.from({ length: inFlight }, (_, n) => worker(clients[n % connections])))
  await Promise.all(clients.map((client) => client.quit()))
  return replies
}

/** Order of replies with equal timestamps: fewer counted requests first, then admitted before denied. */
const inOrder = (a: Reply, b: Reply): number =>
  a.nowMicros - b.nowMicros || a.counted - b.counted || Number(b.admitted) - Number(a.admitted)

const inRedis = Effect.fnUntraced(function* (arrivals: number) {
  const findings = yield* Findings
  const server = yield* redisServer
  const picks = yield* Effect.forEach(Array.from({ length: arrivals }), () => Random.nextIntBetween(0, 19))
  const replies = yield* Effect.promise(() => askRedis(server, picks))
  const references = new Map<string, Reference>()
  for (const reply of [...replies].sort(inOrder)) {
    const reference = referenceOf(references, reply.credential)
    const counted = reference.countedAt(reply.nowMicros, redisWindowMicros)
    if (reply.admitted !== counted < reply.limit) {
      yield* findings.violation(`${reply.credential} at ${reply.nowMicros}: ${reply.admitted} with ${counted} counted`)
    }
    if (reply.admitted) reference.admit(reply.nowMicros)
  }
  const refused = replies.filter(({ admitted }) => !admitted).length
  yield* findings.note(`in Redis: ${replies.length} arrivals, ${refused} refused`)
})

export const limiter: Scenario = {
  name: "limiter",
  promise: "100,000 random arrivals a round are decided by both limiters as a count over the whole history does",
  rounds: 10,
  run: Effect.fnUntraced(function* ({ rounds }) {
    yield* inMemory(rounds * arrivalsPerRound)
    for (let round = 0; round < rounds; round++) yield* inRedis(arrivalsPerRound)
  })
}
