import { type Clock, Duration, Effect } from "effect"
import type { Agenda, Appointment } from "../customers/Agenda.ts"

/** Loops look for work at least this often, also where nobody has said that there is some. */
const roundMs = 24 * 3_600_000

/**
 * The clock of loops that look for work again and again. While there is none, a sleep goes on until the next round: a year
 * has 30 million seconds, and a loop that finds nothing in one of them is of no interest. After `wake` a sleep has its own
 * length again for a while.
 */
export class IdleClock implements Clock.Clock {
  readonly currentTimeMillis: Clock.Clock["currentTimeMillis"]
  readonly currentTimeNanos: Clock.Clock["currentTimeNanos"]
  readonly monotonicTimeNanos: Clock.Clock["monotonicTimeNanos"]
  readonly currentTimeMillisUnsafe: Clock.Clock["currentTimeMillisUnsafe"]
  readonly currentTimeNanosUnsafe: Clock.Clock["currentTimeNanosUnsafe"]
  readonly monotonicTimeNanosUnsafe: Clock.Clock["monotonicTimeNanosUnsafe"]
  private readonly sleepers = new Set<{ readonly dueAt: number; appointment: Appointment; readonly end: () => void }>()
  private readonly agenda: Agenda
  private readonly isOff: () => boolean
  private busyUntil = 0

  constructor(agenda: Agenda, clock: Clock.Clock, isOff: () => boolean) {
    this.agenda = agenda
    this.isOff = isOff
    this.currentTimeMillis = clock.currentTimeMillis
    this.currentTimeNanos = clock.currentTimeNanos
    this.monotonicTimeNanos = clock.monotonicTimeNanos
    this.currentTimeMillisUnsafe = clock.currentTimeMillisUnsafe
    this.currentTimeNanosUnsafe = clock.currentTimeNanosUnsafe
    this.monotonicTimeNanosUnsafe = clock.monotonicTimeNanosUnsafe
  }

  readonly sleep = (duration: Duration.Duration): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      const { agenda } = this
      const dueAt = agenda.now + Duration.toMillis(duration)
      const nextRound = Math.ceil((dueAt + 1) / roundMs) * roundMs
      const end = () => {
        this.sleepers.delete(sleeper)
        if (!this.isOff()) resume(Effect.void)
      }
      const appointment = agenda.at(dueAt <= this.busyUntil ? dueAt : nextRound, end)
      const sleeper = { dueAt, appointment, end }
      this.sleepers.add(sleeper)
      return Effect.sync(() => {
        this.sleepers.delete(sleeper)
        sleeper.appointment.cancel()
      })
    })

  /** There may be work for so long. */
  wake(forMs: number): void {
    const { agenda } = this
    this.busyUntil = Math.max(this.busyUntil, agenda.now + forMs)
    for (const sleeper of this.sleepers) {
      if (sleeper.dueAt > this.busyUntil) continue
      sleeper.appointment.cancel()
      sleeper.appointment = agenda.at(sleeper.dueAt, sleeper.end)
    }
  }
}
