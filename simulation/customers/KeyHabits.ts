import { Effect } from "effect"
import type { OpenRequest } from "../Account.ts"
import { budgetStart } from "../Model.ts"
import type { BoundedKey } from "./BoundedKey.ts"
import { credits, namesBudget, type Reply } from "./Client.ts"
import { ask, judgeResult, pathOf, search } from "./Habits.ts"
import type { Person } from "./Person.ts"

/** Bounds are not checked this close to their time, in milliseconds. */
const tolerance = 10_000

const revoke = Effect.fnUntraced(function* (me: Person, { id, secret }: BoundedKey) {
  me.auditor.keyChanging(secret)
  const ended = yield* me.call({ method: "DELETE", path: `/v1/api-keys/${id}`, as: "session" })
  if (ended?.outcome._tag === "answered") me.auditor.answered(ended.request, ended.outcome.reply, 0)
})

const make = Effect.fnUntraced(function* (me: Person) {
  const { agenda, epoch } = me.world
  const budget = { credits: me.chance.between(1, 5), period: me.chance.pick(["day", "month", "life"] as const) }
  const { target } = ask(me)
  const expiresAt = agenda.now + me.chance.pick([60_000, 86_400_000 * 40])
  const ended = yield* me.call({
    method: "POST",
    path: "/v1/api-keys",
    as: "session",
    body: {
      name: "handed out",
      expires_at: new Date(expiresAt).toISOString(),
      budget,
      targets: [target],
      networks: [`${me.address}/32`]
    }
  })
  if (ended?.outcome._tag !== "answered") return undefined
  const { reply } = ended.outcome
  me.auditor.answered(ended.request, reply, 0)
  if (reply.status !== 201) return undefined
  const { id, secret }: { id: string; secret: string } = JSON.parse(reply.text)
  me.auditor.keys.set(secret, { accountId: me.account.id, revokedAt: undefined })
  const key: BoundedKey = {
    ...{ accountId: me.account.id, epoch, budget, target, expiresAt, spent: new Map() },
    ...{ id, secret, old: undefined }
  }
  return key
})

/** R51: the new secret inherits the bounds of the old one, and the spending of its budget. */
const rotate = Effect.fnUntraced(function* (me: Person, key: BoundedKey) {
  const { agenda } = me.world
  me.auditor.keyChanging(key.secret)
  const until = agenda.now + 60_000
  const ended = yield* me.call({
    method: "POST",
    path: `/v1/api-keys/${key.id}/rotate`,
    as: "session",
    body: { grace_seconds: 60 }
  })
  if (ended?.outcome._tag !== "answered") return false
  const { reply } = ended.outcome
  me.auditor.answered(ended.request, reply, 0)
  if (reply.status !== 200) return false
  const { id, secret }: { id: string; secret: string } = JSON.parse(reply.text)
  me.auditor.keys.set(key.secret, { accountId: key.accountId, revokedAt: agenda.now + 60_000 })
  me.auditor.keys.set(secret, { accountId: key.accountId, revokedAt: undefined })
  key.old = { secret: key.secret, until }
  key.id = id
  key.secret = secret
  return true
})

const spentSince = (key: BoundedKey, start: number) => {
  const spent = key.spent.get(start) ?? { least: 0, most: 0 }
  key.spent.set(start, spent)
  return spent
}

/** Checks the response to a search with such a key, and what it states about the budget. */
const judge = (me: Person, key: BoundedKey, { id, sentAt }: OpenRequest, reply: Reply): void => {
  const { auditor } = me
  const start = budgetStart(key.budget.period, sentAt)
  if (budgetStart(key.budget.period, me.world.agenda.now) !== start) return
  const spent = spentSince(key, start)
  const explain = () => `${id} is ${reply.status}, of ${key.budget.credits} were spent ${spent.least} to ${spent.most}`
  if (namesBudget(reply)) auditor.hold("R50 refused at its end", spent.most + 1 > key.budget.credits, explain)
  spent.least += credits(reply)
  spent.most += reply.status === 500 ? 1 : credits(reply)
  auditor.hold("R50 the budget", spent.least <= key.budget.credits, explain)
}

/** A search within the bounds, with the current or the previous secret. */
const within = Effect.fnUntraced(function* (me: Person, key: BoundedKey) {
  const { agenda, epoch } = me.world
  const asked = { ...ask(me), target: key.target, page: 1, safe: "off" as const }
  const isOld = key.old !== undefined && key.old.until > agenda.now + tolerance && me.chance.isTrue(0.5)
  const secret = isOld ? (key.old?.secret ?? key.secret) : key.secret
  const ended = yield* me.call({ method: "GET", path: pathOf(asked), credits: 1, key: secret })
  if (ended === undefined) return
  const { outcome, request } = ended
  if (outcome._tag !== "answered") {
    // It may be charged in the period in which it was sent, or in the current one.
    for (const at of [request.sentAt, agenda.now]) spentSince(key, budgetStart(key.budget.period, at))
    for (const spent of key.spent.values()) spent.most++
    return
  }
  const { reply } = outcome
  if (reply.status === 401) return
  if (epoch === me.world.epoch) judge(me, key, request, reply)
  me.auditor.answered(request, reply, credits(reply))
  if (reply.status === 200) judgeResult(me, request.id, asked, JSON.parse(reply.text))
})

/** A search outside the bounds, which must be rejected. */
const outside = Effect.fnUntraced(function* (me: Person, key: BoundedKey) {
  const { agenda, auditor } = { agenda: me.world.agenda, auditor: me.auditor }
  const isElsewhere = me.chance.isTrue(0.5)
  const isExpired = agenda.now > key.expiresAt + tolerance
  const target = key.target === "alpha_search" ? "beta_search" : "alpha_search"
  const ended = yield* me.call({
    method: "GET",
    path: pathOf({ ...ask(me), target: isElsewhere ? key.target : target, page: 1, safe: "off" }),
    key: key.secret,
    ...(isElsewhere ? { address: "192.0.2.1" } : {})
  })
  if (ended?.outcome._tag !== "answered") return
  const { reply } = ended.outcome
  const { status } = reply
  const isUnauthorized = status === 401 || status === 500
  const explain = () => `${ended.request.id} is ${status}: ${reply.text}`
  if (isElsewhere) auditor.hold("R50 another network", isUnauthorized, explain)
  else auditor.hold("R50 another target", isUnauthorized || status === 429 || isUnsupported(reply), explain)
  if (isExpired) auditor.hold("R50 an expired key", isUnauthorized, explain)
  if (status !== 401) auditor.answered(ended.request, reply, 0)
})

const isUnsupported = ({ status, text }: Reply): boolean => status === 400 && text.includes("unsupported_parameter")

/** Uses a key with bounds on several days. */
export const useBounded = Effect.fnUntraced(function* (me: Person) {
  const { agenda, epoch } = me.world
  // A deleted account would delete its keys.
  if (me.kind === "trial") return yield* search(me)
  const known = me.bounded
  const isUsable = known?.accountId === me.account.id && known.epoch === epoch
  if (known !== undefined && isUsable && me.chance.isTrue(0.3)) yield* revoke(me, known)
  const key = known !== undefined && isUsable && !isGone(me, known) ? known : yield* make(me)
  me.bounded = key
  if (key === undefined) return
  const turns = me.chance.between(2, 6)
  for (let turn = 0; turn < turns && me.account.id === key.accountId && epoch === me.world.epoch; turn++) {
    if (me.chance.isTrue(0.3)) yield* outside(me, key)
    else if (agenda.now < key.expiresAt - tolerance) yield* within(me, key)
    if (me.chance.isTrue(0.1) && !(yield* rotate(me, key))) {
      me.bounded = undefined
      return
    }
    yield* Effect.sleep(me.chance.pick([10, 1_000, 20_000]))
  }
})

/** True if the key may no longer be valid. */
const isGone = (me: Person, { secret }: BoundedKey): boolean => me.auditor.keys.get(secret)?.isUnsure === true
