import { Effect } from "effect"
import {
  type WebhookAnswer,
  WebhookClient,
  type WebhookPost,
  WebhookUnreachable
} from "../src/services/webhooks/WebhookClient.ts"
import type { ModelAccount } from "./Account.ts"
import type { Auditor } from "./Auditor.ts"
import type { Agenda } from "./customers/Agenda.ts"
import type { Call, Ended } from "./customers/Client.ts"
import { eventWaitsMs, failingMs } from "./Model.ts"
import type { Work } from "./Replica.ts"
import type { Chance } from "./world/Chance.ts"
import type { Link } from "./world/Network.ts"
import type { Trace } from "./world/Trace.ts"

/** The behaviour of a customer's server for a while. */
type Mood = "well" | "failing" | "busy" | "away" | "silent" | "gone"

/** A webhook as its customer knows it. */
interface Hook {
  readonly id: string
  readonly url: string
  readonly account: ModelAccount
  readonly epoch: number
  mood: Mood
  /** The first failure since the last success. */
  failingSince: number | undefined
  /** True where it may have been disabled, so that its events may have ended. */
  isOver: boolean
}

/** An event that happened, and whose customer must hear of it (R53). */
interface Expected {
  readonly name: string
  readonly hook: Hook
  readonly at: number
  failures: number
  /** The last attempt, or the moment of the event before the first. */
  lastAt: number
  /** The longest wait that a failed attempt asked for. */
  waitMs: number
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** A loop that has slept is late by up to a day. */
const lateMs = dayMs + hourMs
const busyForMs = hourMs
/** An attempt that was taken before a suspension has begun by then. */
const underWayMs = 60_000

/** The part of the world that events travel through. */
interface Surroundings {
  readonly agenda: Agenda
  readonly trace: Trace
  readonly internet: Link
  readonly epoch: number
  readonly brokenUntil: number
  readonly isCalm: boolean
  readonly wake: (work: Work, forMs: number) => void
}

/** A customer as the owner of an endpoint. */
interface Owner {
  readonly name: string
  readonly account: ModelAccount
  readonly chance: Chance
  readonly call: (call: Call) => Effect.Effect<Ended | undefined>
}

/** The servers of customers, and the events that must come to them. */
export class Events {
  private readonly hooks = new Map<string, Hook>()
  private readonly expected = new Map<string, Expected>()
  /** Ids of events, by what the events tell. The same event has the same id in every attempt. */
  private readonly ids = new Map<string, string>()
  private readonly world: Surroundings
  private readonly auditor: Auditor

  constructor(world: Surroundings, auditor: Auditor) {
    this.world = world
    this.auditor = auditor
  }

  /** The way of a replica to the servers of customers. */
  readonly client = WebhookClient.of({
    check: () => Effect.void,
    post: (post) => Effect.suspend(() => this.take(post))
  })

  private take(post: WebhookPost): Effect.Effect<WebhookAnswer, WebhookUnreachable> {
    const { trace } = this.world
    const hook = this.hooks.get(post.url)
    const name = nameOf(post)
    const mood = hook?.mood ?? "away"
    trace.add("receiver", `${post.url} is ${mood}: ${name}`)
    const known = this.ids.get(`${post.url} ${name}`)
    this.ids.set(`${post.url} ${name}`, post.id)
    const isSilenced = hook?.account.isSuspended === true && hook.account.changedAt < this.world.agenda.now - underWayMs
    this.auditor.hold("R49 nothing is sent", !isSilenced, () => `${name} for a suspended account`)
    this.auditor.hold("R53 one id", known === undefined || known === post.id, () => `${name}: ${known}, ${post.id}`)
    const expected = this.expected.get(`${post.url} ${name}`)
    const end = <A, E>(answer: Effect.Effect<A, E>, ms: number) =>
      Effect.andThen(
        Effect.sleep(ms),
        Effect.suspend(() => {
          if (hook !== undefined) this.note(hook, expected, mood)
          return answer
        })
      )
    const isLost = this.world.internet.fate() !== "arrives"
    if (isLost || mood === "away") return end(unreachable, 50)
    if (mood === "silent") return end(unreachable, 15_000)
    if (mood === "well" && hook !== undefined) {
      hook.failingSince = undefined
      this.expected.delete(`${post.url} ${name}`)
      return Effect.as(Effect.sleep(50), { status: 200, retryAfterMs: 0 })
    }
    const status = mood === "gone" ? 410 : mood === "busy" ? 503 : 500
    if (mood === "gone" && hook !== undefined) hook.isOver = true
    return end(Effect.succeed({ status, retryAfterMs: mood === "busy" ? busyForMs : 0 }), 50)
  }

  /** A failed attempt: the next one is due some time later. */
  private note(hook: Hook, expected: Expected | undefined, mood: Mood): void {
    const { agenda } = this.world
    hook.failingSince ??= agenda.now
    if (hook.failingSince <= agenda.now - failingMs) hook.isOver = true
    if (expected === undefined) return
    const wait = eventWaitsMs[expected.failures]
    expected.failures++
    expected.lastAt = agenda.now
    if (wait === undefined) {
      // It was given up as it is told.
      this.expected.delete(`${hook.url} ${expected.name}`)
      return
    }
    expected.waitMs = Math.max(wait * 1.1, mood === "busy" ? busyForMs : 0)
    agenda.after(expected.waitMs + 1_000, () => this.world.wake("events", 3_000))
  }

  private expect(hook: Hook, name: string): void {
    const { agenda } = this.world
    if (this.ids.has(`${hook.url} ${name}`)) return
    this.expected.set(`${hook.url} ${name}`, { name, hook, at: agenda.now, failures: 0, lastAt: agenda.now, waitMs: 0 })
    this.world.wake("events", 3_000)
  }

  /** Something has happened to a customer, who hears of it where there is a webhook. */
  happened(me: Owner, name: string): void {
    const hook = this.hooks.get(urlOf(me))
    if (hook !== undefined && this.isUsable(me, hook)) this.expect(hook, name)
  }

  private isUsable(me: Owner, hook: Hook): boolean {
    return !hook.isOver && hook.account === me.account && hook.epoch === this.world.epoch
  }

  /** A customer makes use of webhooks: makes one, tests it, and has a server that does not always work. */
  act(me: Owner): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { agenda } = this.world
      const hook = this.hooks.get(urlOf(me))
      if (hook === undefined || !this.isUsable(me, hook)) return yield* this.make(me)
      const ended = yield* me.call({ method: "POST", path: `/v1/webhooks/${hook.id}/test`, as: "session" })
      if (ended?.outcome._tag === "answered") {
        const { reply } = ended.outcome
        this.auditor.answered(ended.request, reply, 0)
        if (reply.status < 300 && this.isUsable(me, hook))
          this.expect(hook, `webhook.test ${JSON.parse(reply.text).event_id}`)
      }
      if (hook.mood !== "well" || me.chance.isTrue(0.5)) return
      hook.mood = me.chance.pick(["failing", "failing", "busy", "away", "silent", "gone"])
      agenda.after(me.chance.pick([60_000, hourMs, dayMs, 3 * dayMs, 6 * dayMs]), () => {
        hook.mood = "well"
      })
    })
  }

  /** The customer's account goes, and its events with it; without an answer nobody knows if it went. */
  leave(me: Owner): void {
    const hook = this.hooks.get(urlOf(me))
    if (hook !== undefined) hook.isOver = true
  }

  /** R53: deliveries of a suspended account are dropped, also those of requests that were under way. */
  suspended(me: Owner): void {
    const hook = this.hooks.get(urlOf(me))
    for (const [name, expected] of this.expected) if (expected.hook === hook) this.expected.delete(name)
  }

  private make(me: Owner) {
    return Effect.gen({ self: this }, function* () {
      const url = urlOf(me)
      const old = this.hooks.get(url)
      if (old !== undefined) {
        old.isOver = true
        this.hooks.delete(url)
        const gone = yield* me.call({ method: "DELETE", path: `/v1/webhooks/${old.id}`, as: "session" })
        if (gone?.outcome._tag === "answered") this.auditor.answered(gone.request, gone.outcome.reply, 0)
      }
      const ended = yield* me.call({ method: "POST", path: "/v1/webhooks", body: { url, events: [] }, as: "session" })
      if (ended?.outcome._tag !== "answered") return
      const { reply } = ended.outcome
      this.auditor.answered(ended.request, reply, 0)
      if (reply.status !== 201) return
      const { id }: { id: string } = JSON.parse(reply.text)
      const { epoch } = this.world
      const made = { id, url, account: me.account, epoch }
      this.hooks.set(url, { ...made, mood: "well", failingSince: undefined, isOver: false })
    })
  }

  /** R53: each event came, or is still tried at the times that are told, or was given up after all of them. */
  judge(): void {
    const { agenda, brokenUntil, epoch, isCalm } = this.world
    for (const [name, it] of this.expected) {
      const { hook, lastAt, waitMs } = it
      if (hook.isOver || hook.epoch !== epoch || this.hooks.get(hook.url) !== hook) this.expected.delete(name)
      else if (isCalm) {
        const dueBy = Math.max(lastAt + waitMs, brokenUntil) + lateMs
        this.auditor.hold("R53 at least once", agenda.now <= dueBy, () => `${name} had ${it.failures} attempts`)
      }
    }
  }
}

const unreachable = Effect.fail(new WebhookUnreachable({ reason: "ECONNREFUSED" }))

const urlOf = ({ name }: Owner): string => `https://hooks.test/${name}`

/** The type of an event, and the key or the test that it is about. */
const nameOf = ({ body, id }: WebhookPost): string => {
  const { data, type }: { readonly type: string; readonly data: { readonly key_id?: string } } = JSON.parse(body)
  return `${type} ${type === "webhook.test" ? id : (data.key_id ?? id)}`
}
