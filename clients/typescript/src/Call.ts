import { type ErrorFields, makeError, type QuarryError } from "./errors.ts"
import type { Meta } from "./meta.ts"

/** The time by which calls go. Tests may give one that they move. */
export interface Clock {
  /** Unix milliseconds. */
  readonly now: () => number
  /** Calls back once after so many milliseconds, unless it is canceled by what it returns. */
  readonly after: (ms: number, callback: () => void) => () => void
}

export interface CallOptions {
  /** Aborts the call, which then fails with `aborted`. */
  readonly signal?: AbortSignal | undefined
  /** The time of the call with all its attempts. Of a stream: the longest time without a byte, of which one comes each 10 s. */
  readonly timeoutMs?: number | undefined
  /** The most requests after the first. */
  readonly maxRetries?: number | undefined
  /** A name for the call, by which a later call gets the same answer without being charged again, for 24 hours. */
  readonly idempotencyKey?: string | undefined
  /** Gets the credits and limits of each answer of the call. */
  readonly onAnswer?: ((meta: Meta) => void) | undefined
}

interface Terms {
  readonly signal: AbortSignal | undefined
  readonly timeoutMs: number
  readonly maxRetries: number
}

const firstBackoffMs = 250
const maxBackoffMs = 8_000

/** One call: its attempts, its time and its end. */
export class Call {
  attempts = 0
  readonly idempotencyKey: string | undefined
  private readonly maxRetries: number
  private readonly controller = new AbortController()
  private readonly clock: Clock
  private readonly userSignal: AbortSignal | undefined
  private readonly timeoutMs: number
  private deadline = 0
  private cancelTimer: () => void = () => {}
  private ended: "aborted" | "timeout" | undefined

  constructor(clock: Clock, idempotencyKey: string | undefined, { maxRetries, signal, timeoutMs }: Terms) {
    this.clock = clock
    this.idempotencyKey = idempotencyKey
    this.maxRetries = maxRetries
    this.timeoutMs = timeoutMs
    this.userSignal = signal
    if (signal?.aborted) this.interrupt("aborted")
    signal?.addEventListener("abort", this.onAbort)
    this.startTimer()
  }

  get signal(): AbortSignal {
    return this.controller.signal
  }

  private readonly onAbort = () => this.interrupt("aborted")

  private interrupt(reason: "aborted" | "timeout"): void {
    this.ended ??= reason
    this.controller.abort()
  }

  /** Gives the call its whole time from now. */
  startTimer(): void {
    this.cancelTimer()
    this.deadline = this.clock.now() + this.timeoutMs
    this.cancelTimer = this.clock.after(this.timeoutMs, () => this.interrupt("timeout"))
  }

  stopTimer(): void {
    this.cancelTimer()
  }

  /** Releases what the call holds, and its connection if it is still open. */
  end(): void {
    this.cancelTimer()
    this.userSignal?.removeEventListener("abort", this.onAbort)
    this.controller.abort()
  }

  error(fields: ErrorFields & { readonly meta?: Meta; readonly retryAfterMs?: number }, cause?: unknown): QuarryError {
    const key = this.idempotencyKey === undefined ? {} : { idempotencyKey: this.idempotencyKey }
    return makeError({ ...fields, ...key, attempts: this.attempts }, cause)
  }

  /** Throws where the call has been aborted or its time is over. */
  check(): void {
    if (this.ended === "timeout") {
      throw this.error({ error: "timeout", message: `There was no answer within ${this.timeoutMs} ms.` })
    }
    if (this.ended === "aborted") {
      throw this.error({ error: "aborted", message: "The call was aborted." }, this.userSignal?.reason)
    }
  }

  /** Waits before the next attempt. False where there is none: too many attempts, or the wait outlasts the call's time. */
  async backOff(retryAfterMs?: number): Promise<boolean> {
    const random = Math.random()
    const backoffMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (this.attempts - 1))
    // Never earlier than the server asks for, and scattered, so that callers do not come back together.
    const waitMs = retryAfterMs === undefined ? backoffMs * (0.5 + random / 2) : retryAfterMs + firstBackoffMs * random
    if (this.attempts > this.maxRetries || this.clock.now() + waitMs >= this.deadline) return false
    await new Promise<void>((resolve) => {
      const cancel = this.clock.after(waitMs, resolve)
      this.signal.addEventListener("abort", () => {
        cancel()
        resolve()
      })
    })
    this.check()
    return true
  }
}
