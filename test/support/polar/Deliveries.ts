import { createHmac, randomUUID } from "node:crypto"
import { payloadFault } from "./Document.ts"
import { iso } from "./shapes.ts"

export interface Event {
  readonly id: string
  readonly type: string
  /** The text that is signed and sent, identical in each attempt. */
  readonly body: string
  attempts: number
  state: "held" | "pending" | "delivered" | "failed" | "dropped" | "skipped"
  /** Status of the latest response. 0 if there was none. */
  status: number
}

/** Faults of delivery, which can be changed at any time. */
export interface Levers {
  /** Holds events until `release`. */
  hold: boolean
  /** Number of times that each event is delivered. */
  copies: number
  /** Share of events that are never delivered, from 0 to 1. */
  drop: number
  delayMs: number
  /** The signing key: the secret's text, its decoded bytes, a different secret, or none. */
  signature: "whole" | "decoded" | "wrong" | "none"
  /** Error of a delivery's timestamp, in seconds. */
  skewSeconds: number
  /** First wait after a failure, which doubles each time. Polar's is 2,000. */
  retryMs: number
  maxAttempts: number
}

export const noLevers: Levers = {
  hold: false,
  copies: 1,
  drop: 0,
  delayMs: 0,
  signature: "whole",
  skewSeconds: 0,
  retryMs: 2_000,
  maxAttempts: 10
}

/** Consecutive events that failed for good, after which Polar disables the endpoint. */
const failuresUntilDisabled = 10
const timeoutMs = 10_000

export interface Endpoint {
  url: string
  secret: string
  enabled: boolean
  events: ReadonlyArray<string>
}

/** Polar's deliveries to one endpoint. */
export class Deliveries {
  readonly events: Array<Event> = []
  readonly log: Array<{ readonly eventId: string; readonly at: number; readonly status: number }> = []
  readonly levers: Levers = { ...noLevers }
  /** Undefined if there is no endpoint. */
  endpoint: Endpoint | undefined
  private running = new Set<Promise<void>>()
  private last: Promise<void> = Promise.resolve()
  private readonly timers = new Set<NodeJS.Timeout>()
  private readonly faults: Array<string>
  private readonly random: () => number

  constructor(faults: Array<string>, random: () => number) {
    this.faults = faults
    this.random = random
  }

  emit(type: string, data: object, at: number): void {
    const payload = { type, timestamp: iso(at), data }
    const fault = payloadFault(type, payload)
    if (fault !== undefined) this.faults.push(`${type}: ${fault}`)
    if (this.endpoint?.enabled !== true || !this.endpoint.events.includes(type)) return
    const event: Event = {
      id: randomUUID(),
      type,
      body: JSON.stringify(payload),
      attempts: 0,
      state: this.levers.hold ? "held" : "pending",
      status: 0
    }
    this.events.push(event)
    if (event.state === "pending") this.start(event)
  }

  /** Delivers held events in this order. */
  release(order: "made" | "reverse" | "shuffle" = "made"): Promise<void> {
    const held = this.events.filter(({ state }) => state === "held")
    if (order === "reverse") held.reverse()
    if (order === "shuffle") {
      const keys = new Map(held.map((event) => [event, this.random()]))
      held.sort((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0))
    }
    for (const event of held) {
      event.state = "pending"
      this.start(event)
    }
    return this.idle()
  }

  /** Delivers an event again, manually or after a failure. */
  redeliver(eventId: string): Promise<number> {
    const event = this.events.find(({ id }) => id === eventId)
    return event === undefined ? Promise.resolve(0) : this.attempt(event)
  }

  /** Resolves once every event that is not held has been attempted. */
  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running)
  }

  close(): void {
    for (const timer of this.timers) clearTimeout(timer)
    this.timers.clear()
    this.endpoint = undefined
  }

  /** Delivers events one at a time, as long as none fails. */
  private start(event: Event): void {
    if (this.random() < this.levers.drop) {
      event.state = "dropped"
      return
    }
    const { copies, delayMs } = this.levers
    const run = this.last.then(async () => {
      if (delayMs > 0) await new Promise<void>((resolve) => this.later(delayMs, resolve))
      for (let copy = 0; copy < copies; copy++) await this.attempt(event)
      if (event.state === "pending") this.retryLater(event)
    })
    this.last = run
    this.running.add(run)
    void run.finally(() => this.running.delete(run))
  }

  private later(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      run()
    }, ms)
    this.timers.add(timer)
  }

  private retryLater(event: Event): void {
    if (this.endpoint === undefined) return
    if (event.attempts >= this.levers.maxAttempts) {
      event.state = "failed"
      this.disableIfFailing(this.endpoint)
      return
    }
    const wait = this.levers.retryMs * 2 ** event.attempts * (0.5 + this.random() / 2)
    this.later(wait, () => {
      void this.attempt(event).then(() => event.state === "pending" && this.retryLater(event))
    })
  }

  private disableIfFailing(endpoint: Endpoint): void {
    const last = this.events.filter(({ state }) => state === "delivered" || state === "failed")
    if (last.length < failuresUntilDisabled) return
    if (last.slice(-failuresUntilDisabled).some(({ state }) => state === "delivered")) return
    endpoint.enabled = false
    for (const event of this.events) if (event.state === "pending") event.state = "skipped"
  }

  /** Headers of an attempt. Its timestamp is the real time, regardless of the model's clock. */
  headers(event: Pick<Event, "id" | "body">): Record<string, string> {
    const timestamp = `${Math.floor(Date.now() / 1000) + this.levers.skewSeconds}`
    const secret = this.endpoint?.secret ?? ""
    const decoded = Buffer.from(secret.slice("whsec_".length), "base64")
    const keys = { whole: Buffer.from(secret), decoded, wrong: Buffer.from("another secret"), none: undefined }
    const key = keys[this.levers.signature]
    const headers = { "content-type": "application/json", "webhook-id": event.id, "webhook-timestamp": timestamp }
    if (key === undefined) return headers
    const signature = createHmac("sha256", key).update(`${event.id}.${timestamp}.${event.body}`).digest("base64")
    return { ...headers, "webhook-signature": `v1,${signature}` }
  }

  private async attempt(event: Event): Promise<number> {
    if (this.endpoint === undefined || event.state === "skipped") return 0
    event.attempts += 1
    event.status = await fetch(this.endpoint.url, {
      method: "POST",
      headers: { ...this.headers(event), "user-agent": "polar.sh webhooks" },
      body: event.body,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs)
    }).then(
      async (response) => {
        await response.arrayBuffer()
        return response.status
      },
      () => 0
    )
    this.log.push({ eventId: event.id, at: Date.now(), status: event.status })
    if (event.status >= 200 && event.status < 300) event.state = "delivered"
    return event.status
  }
}
