import { Effect } from "effect"
import type { CallerKind } from "../Account.ts"
import { isCharged, isUnsent } from "../Model.ts"
import { quiet } from "../store/Store.ts"
import { firstUrl } from "../world/Upstreams.ts"
import { credits, type Ended, type Reply } from "./Client.ts"
import type { Person } from "./Person.ts"

const words = ["css grid", "rust async", "tea", "maps", "weather in oslo", "sql window"]
const geos = ["us", "de", "fr"]
const locales = ["en-us", "de-de", "fr-fr"]
const pageable = new Set(["alpha_search", "epsilon_search", "zeta_search"])
const safeable = new Set(["alpha_search", "beta_search", "delta_search", "epsilon_search"])
const targets = [
  "alpha_search",
  "beta_search",
  "gamma_search",
  "delta_search",
  "epsilon_search",
  "zeta_search"
] as const

type Asked = Parameters<typeof firstUrl>[0]

export const ask = ({ chance }: Person): Asked => {
  const target = chance.pick(targets)
  return {
    target,
    query: chance.pick(words),
    geo: chance.pick(geos),
    locale: chance.pick(locales),
    page: pageable.has(target) ? chance.between(1, 2) : 1,
    num: chance.between(8, 10),
    safe: safeable.has(target) ? chance.pick(["off", "strict"] as const) : "off"
  }
}

export const pathOf = (asked: Asked): string =>
  `/v1/query?${new URLSearchParams({ ...asked, page: String(asked.page), num: String(asked.num) })}`

export interface Result {
  readonly results: { readonly organic: ReadonlyArray<{ readonly url: string }> }
}

/** R15: an answer, cached or not, matches the search. */
export const judgeResult = ({ auditor }: Person, id: string, asked: Asked, { results }: Result): void => {
  const [first] = results.organic
  auditor.hold(
    "R15 the answer is to what was asked",
    first === undefined || first.url === firstUrl(asked),
    () => `${id} asked ${JSON.stringify(asked)} and got ${first?.url}`
  )
}

/** Some clients disconnect before the response. */
export const leaving = ({ chance }: Person) => (chance.isTrue(0.03) ? chance.between(1, 600) : undefined)

const judgeSearch = (me: Person, { outcome, request }: Ended, asked: Asked): void => {
  if (outcome._tag === "cut") return
  const { reply } = outcome
  const cost = credits(reply)
  const due = me.kind === "demo" || !isCharged(reply) ? 0 : 1
  me.auditor.hold("I4 the cost", cost === due, () => `${request.id} is ${reply.status} and cost ${cost}`)
  me.auditor.answered(request, reply, cost)
  if (reply.status === 200) judgeResult(me, request.id, asked, JSON.parse(reply.text))
}

export const search = Effect.fnUntraced(function* (me: Person) {
  const asked = ask(me)
  const ended = yield* me.call({ method: "GET", path: pathOf(asked), credits: 1, leavesAfterMs: leaving(me) })
  if (ended !== undefined) judgeSearch(me, ended, asked)
})

/** An invalid request: it counts for the rate limit but costs nothing. */
export const mistake = Effect.fnUntraced(function* (me: Person) {
  const path = me.chance.pick([
    "/v1/query?query=",
    "/v1/query?query=a&geo=xx",
    "/v1/query?query=a&target=gamma_search&page=2"
  ])
  const ended = yield* me.call({ method: "GET", path })
  if (ended?.outcome._tag !== "answered") return
  const { reply } = ended.outcome
  const isRefused = reply.status === 400 || reply.status === 429 || reply.status === 500
  me.auditor.hold("R6 a mistake is refused", isRefused, () => `${path} is ${reply.status}`)
  me.auditor.answered(ended.request, reply, 0)
})

/** A request with an idempotency key. */
interface Keyed {
  readonly key: string
  readonly epoch: number
  /** The charged answer. Undefined if the client has none. */
  reply: Reply | undefined
}

export const newKeyed = (me: Person): Keyed => ({ key: me.chance.hex(16), epoch: me.world.epoch, reply: undefined })

/** R44: retrying a charged request is free and returns the same answer. */
export const judgeReplay = (me: Person, id: string, keyed: Keyed, reply: Reply): void => {
  const first = keyed.reply
  const isReplay = reply.headers["idempotent-replayed"] === "true"
  if (isReplay) me.auditor.hold("R44 a replay is free", credits(reply) === 0, () => `${id} cost ${credits(reply)}`)
  if (isReplay || credits(reply) > 0) keyed.reply ??= reply
  if (first === undefined || !isCharged(reply) || keyed.epoch !== me.world.epoch) return
  me.auditor.hold("R44 charged once", isReplay, () => `${id} was run again`)
  const isSame = reply.status === first.status && (reply.status !== 200 || reply.text === first.text)
  me.auditor.hold("R44 the same answer", isSame, () => `${id}: ${reply.text}, first ${first.text}`)
}

/** Sends a search with an idempotency key until it is answered, and sometimes once more. */
export const keyedSearch = Effect.fnUntraced(function* (me: Person) {
  const keyed = newKeyed(me)
  const asked = ask(me)
  const times = me.chance.between(2, 4)
  for (let turn = 0; turn < times; turn++) {
    const ended = yield* me.call({
      method: "GET",
      path: pathOf(asked),
      credits: 1,
      headers: { "idempotency-key": keyed.key },
      leavesAfterMs: leaving(me)
    })
    if (ended?.outcome._tag === "answered") {
      const { reply } = ended.outcome
      judgeReplay(me, ended.request.id, keyed, reply)
      me.auditor.answered(ended.request, reply, credits(reply))
      if (reply.status === 200) judgeResult(me, ended.request.id, asked, JSON.parse(reply.text))
    }
    me.auditor.group(keyed.key, ended?.request)
    yield* Effect.sleep(me.chance.pick([0, 50, 2_000, 20_000]))
  }
})

interface RowResult extends Partial<Result> {
  readonly status: "ok" | "error"
  readonly error?: string
  readonly message?: string
}

const isRowCharged = ({ error, message = "", status }: RowResult): boolean =>
  status === "ok" || ((error === "upstream_error" || error === "upstream_timeout") && !isUnsent(message))

const batchOf = (me: Person, length = me.chance.between(1, 8)) => {
  const rows = Array.from({ length }, () => ({ ...ask(me), page: 1, safe: "off" as const }))
  const mistakes = me.chance.isTrue(0.3) ? [{ query: "" }] : []
  return { rows, queries: [...rows, ...mistakes] }
}

const judgeRows = (
  me: Person,
  id: string,
  rows: ReadonlyArray<Asked>,
  results: ReadonlyArray<RowResult | undefined>
) => {
  for (const [index, result] of results.entries()) {
    const asked = rows[index]
    if (asked === undefined || result?.results === undefined) continue
    judgeResult(me, id, asked, { results: result.results })
  }
}

/** Exactly the dispatched rows are charged. A few may have had no time left (R19). */
const judgeBatchCost = ({ auditor, kind }: Person, id: string, results: ReadonlyArray<RowResult>, cost: number) => {
  if (kind === "demo") return auditor.hold("R24 the demo is free", cost === 0, () => `${id} cost ${cost}`)
  const most = results.filter(isRowCharged).length
  const least = results.filter((it) => isRowCharged(it) && it.error !== "upstream_timeout").length
  auditor.hold("I4 rows", cost >= least && cost <= most, () => `${id} cost ${cost}, with ${least} to ${most} rows`)
}

/** A batch without streaming. */
export const batch = Effect.fnUntraced(function* (me: Person) {
  const { queries, rows } = batchOf(me)
  const ended = yield* me.call({
    method: "POST",
    path: "/v1/bulk",
    body: { queries },
    credits: rows.length,
    leavesAfterMs: leaving(me)
  })
  if (ended?.outcome._tag !== "answered") return
  const { reply } = ended.outcome
  const { id } = ended.request
  if (reply.status === 200) {
    const { results }: { results: ReadonlyArray<RowResult> } = JSON.parse(reply.text)
    judgeBatchCost(me, id, results, credits(reply))
    judgeRows(me, id, rows, results)
  }
  me.auditor.answered(ended.request, reply, credits(reply))
})

/** A batch with an idempotency key, which its client retries. It is charged once, as a whole. */
export const keyedBatch = Effect.fnUntraced(function* (me: Person) {
  const { queries, rows } = batchOf(me)
  const keyed = newKeyed(me)
  const times = me.chance.between(2, 3)
  for (let turn = 0; turn < times; turn++) {
    const ended = yield* me.call({
      method: "POST",
      path: "/v1/bulk",
      body: { queries },
      credits: rows.length,
      headers: { "idempotency-key": keyed.key },
      leavesAfterMs: leaving(me)
    })
    if (ended?.outcome._tag === "answered") {
      const { reply } = ended.outcome
      const { id } = ended.request
      judgeReplay(me, id, keyed, reply)
      if (reply.status === 200) {
        const { results }: { results: ReadonlyArray<RowResult> } = JSON.parse(reply.text)
        const isReplay = reply.headers["idempotent-replayed"] === "true"
        if (!isReplay) judgeBatchCost(me, id, results, credits(reply))
        judgeRows(me, id, rows, results)
      }
      me.auditor.answered(ended.request, reply, credits(reply))
    }
    me.auditor.group(keyed.key, ended?.request)
    yield* Effect.sleep(me.chance.pick([0, 50, 2_000, 20_000]))
  }
})

/** The complete lines of a stream. */
const linesOf = (
  text: string
): ReadonlyArray<RowResult & { readonly type: string; readonly index: number; readonly credits_used: number }> =>
  text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

/** A streamed batch, which some clients abandon. */
export const stream = Effect.fnUntraced(function* (me: Person, length?: number, leavesAfterMs?: number) {
  const { queries, rows } = batchOf(me, length)
  const ended = yield* me.call({
    method: "POST",
    path: "/v1/bulk",
    body: { queries },
    headers: { accept: "application/x-ndjson" },
    credits: rows.length,
    leavesAfterMs: leavesAfterMs ?? (me.chance.isTrue(0.3) ? me.chance.between(20, 2_000) : undefined)
  })
  if (ended === undefined) return
  const { outcome, request } = ended
  const isLines = outcome._tag === "cut" || outcome.reply.status === 200
  const lines = isLines ? linesOf(outcome._tag === "cut" ? outcome.text : outcome.reply.text) : []
  const results = lines.filter(({ type }) => type === "row")
  judgeRows(
    me,
    request.id,
    rows,
    rows.map((_, index) => results.find((it) => it.index === index))
  )
  const summary = lines.find(({ type }) => type === "summary")
  if (me.kind !== "demo") request.least = results.filter((it) => it.status === "ok").length
  if (outcome._tag === "cut" || (isLines && summary === undefined)) return
  const cost = summary?.credits_used ?? 0
  if (isLines) judgeBatchCost(me, request.id, results, cost)
  me.auditor.answered(request, outcome.reply, cost)
})

/** Many concurrent requests: more than the rate limit or the quota allows. */
export const burst = Effect.fnUntraced(function* (me: Person) {
  const count = me.kind === "demo" ? me.chance.between(3, 9) : me.chance.pick([3, 5, 8, 70])
  yield* Effect.forEach(Array.from({ length: count }), () => search(me), { concurrency: "unbounded", discard: true })
})

/** Requests now and exactly a minute later: some arrive just before the end of the window, others just after. */
export const atTheEdge = Effect.fnUntraced(function* (me: Person) {
  const { agenda } = me.world
  const isPublic = !me.hasAccount
  const count = me.kind === "demo" ? 9 : me.kind === "marketplace" ? 12 : 70
  const kinds = me.chance.isTrue(0.3) ? (["key", "session"] as const) : (["key"] as const)
  const one = isPublic ? search(me) : Effect.suspend(() => whoAmI(me, kinds[agenda.now % kinds.length]))
  const some = Effect.forEach(Array.from({ length: count }), () => one, { concurrency: "unbounded", discard: true })
  const startedAt = agenda.now
  yield* some
  if (me.chance.isTrue(0.5)) {
    // All of these are denied, and none may count once the first requests have left the window.
    yield* Effect.sleep(Math.max(startedAt + 30_000 - agenda.now, 0))
    yield* some
  }
  yield* Effect.sleep(Math.max(startedAt + 60_000 - agenda.now, 0))
  yield* some
})

/** A batch paid from both quota and packs, often abandoned before all rows have run. */
export const acrossQuota = Effect.fnUntraced(function* (me: Person) {
  const { balance, quota = 0, used } = me.account.figures
  const left = quota - used
  if (left < 1 || left > maxAcross || balance < 1) return yield* stream(me)
  const rows = left + me.chance.between(1, Math.min(balance, maxAcross))
  yield* stream(me, rows, me.chance.between(60, 600))
})
const maxAcross = 30

export const whoAmI = Effect.fnUntraced(function* (me: Person, as: CallerKind = me.usualKind) {
  const ended = yield* me.call({ method: "GET", path: "/v1/me", as })
  if (ended?.outcome._tag === "answered") me.auditor.answered(ended.request, ended.outcome.reply, 0)
})

const idOfKey = ({ secret, world }: Person): string | undefined => world.store.memory.keys.get(secret)?.id

/** Rotates the key. The response revokes the old one. */
export const rotate = Effect.fnUntraced(function* (me: Person) {
  const { auditor } = me
  const old = me.secret
  yield* quiet(me.world.store)
  const id = idOfKey(me)
  if (id === undefined) return
  auditor.keyChanging(old)
  const ended = yield* me.call({ method: "POST", path: `/v1/api-keys/${id}/rotate`, as: "session" })
  if (ended?.outcome._tag !== "answered") return
  const { reply } = ended.outcome
  auditor.answered(ended.request, reply, 0)
  if (reply.status !== 200) return
  const { id: newId, secret }: { id: string; secret: string } = JSON.parse(reply.text)
  me.world.events.happened(me, `key.rotated ${newId}`)
  auditor.keyRevoked(old)
  auditor.keys.set(secret, { accountId: me.account.id, revokedAt: undefined })
  me.secret = secret
  // A forgotten program uses the old key a few seconds later.
  yield* Effect.sleep(me.chance.pick([100, 11_000]))
  me.secret = old
  yield* me.call({ method: "GET", path: "/v1/me" })
  if (me.secret === old) me.secret = secret
})

/** Deletes the account and signs up again with the same address: the trial continues where it was (R32). */
export const leaveAndReturn = Effect.fnUntraced(function* (me: Person) {
  const { auditor, secret } = me
  // Without a response, it is unknown if the account still exists.
  auditor.keyChanging(secret)
  me.world.events.leave(me)
  const ended = yield* me.call({ method: "DELETE", path: "/v1/account", as: "session" })
  me.world.wake("payments", 10_000)
  if (ended?.outcome._tag !== "answered") return
  auditor.answered(ended.request, ended.outcome.reply, 0)
  if (ended.outcome.reply.status >= 300) return
  yield* Effect.sleep(400_000)
  yield* quiet(me.world.store)
  // Another request may have discovered meanwhile that the account is gone.
  if (me.world.store.memory.accounts.has(me.account.id)) return
  me.register(me.auditor.trialUsed(me.account, `${me.name}@people.test`))
})
