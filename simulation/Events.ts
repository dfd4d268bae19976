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

/** Temporary behavior of a customer's server. */
type Mood = "well" | "failing" | "busy" | "away" | "silent" | "gone"

interface Hook {
  readonly id: string
  readonly url: string
  readonly account: ModelAccount
  readonly epoch: number
  mood: Mood
  failingSince: number | undefined
  /** True if it may have been disabled, in which case its events may have been dropped. */
  isOver: boolean
}

/** An event that the customer must receive (R53). */
interface Expected {
  readonly name: string
  readonly hook: Hook
  readonly at: number
  failures: number
  /** Time of the last attempt, or of the event before the first attempt. */
  lastAt: number
  /** Longest wait requested by a failed attempt. */
  waitMs: number
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** A loop that has been sleeping is up to a day late. */
const lateMs = dayMs + hourMs
const busyForMs = hourMs
/** An attempt leased before a suspension has started by then. */
const underWayMs = 60_000

interface Surroundings {
  readonly agenda: Agenda
  readonly trace: Trace
  readonly internet: Link
  readonly epoch: number
  readonly brokenUntil: number
  readonly isCalm: boolean
  readonly wake: (work: Work, forMs: number) => void
}

/** A customer who owns an endpoint. */
interface Owner {
  readonly name: string
  readonly account: ModelAccount
  readonly chance: Chance
  readonly call: (call: Call) => Effect.Effect<Ended | undefined>
}

/** Customers' servers, and the events that they must receive. */
export class Events {
  private readonly hooks = new Map<string, Hook>()
  private readonly expected = new Map<string, Expected>()
  /** Event ids by content. An event has the same id in every attempt. */
  private readonly ids = new Map<string, string>()
  private readonly world: Surroundings
  private readonly auditor: Auditor

  constructor(world: Surroundings, auditor: Auditor) {
    this.world = world
    this.auditor = auditor
  }

  /** A replica's connection to customers' servers. */
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

  /** Records a failed attempt. The next one is due later. */
  private note(hook: Hook, expected: Expected | undefined, mood: Mood): void {
    const { agenda } = this.world
    hook.failingSince ??= agenda.now
    if (hook.failingSince <= agenda.now - failingMs) hook.isOver = true
    if (expected === undefined) return
    const wait = eventWaitsMs[expected.failures]
    expected.failures++
    expected.lastAt = agenda.now
    if (wait === undefined) {
      // It was given up on schedule.
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

  /** Expects an event if the customer has a usable webhook. */
  happened(me: Owner, name: string): void {
    const hook = this.hooks.get(urlOf(me))
    if (hook !== undefined && this.isUsable(me, hook)) this.expect(hook, name)
  }

  private isUsable(me: Owner, hook: Hook): boolean {
    return !hook.isOver && hook.account === me.account && hook.epoch === this.world.epoch
  }

  /** Creates and tests a webhook, with a server that sometimes fails. */
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

  /** The account is deleted with its events. Without a response, the deletion is uncertain. */
  leave(me: Owner): void {
    const hook = this.hooks.get(urlOf(me))
    if (hook !== undefined) hook.isOver = true
  }

  /** R53: deliveries of a suspended account are dropped, including those of requests in progress. */
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

  /** R53: each event was delivered, is being retried on schedule, or was given up after the last attempt. */
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

/** The type of an event, and its key or test. */
const nameOf = ({ body, id }: WebhookPost): string => {
  const { data, type }: { readonly type: string; readonly data: { readonly key_id?: string } } = JSON.parse(body)
  return `${type} ${type === "webhook.test" ? id : (data.key_id ?? id)}`
}
