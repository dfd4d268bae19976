import { type Clock, Duration, Effect } from "effect"
import type { Agenda, Appointment } from "../customers/Agenda.ts"

/** Loops run at least this often, even if nobody has reported work. */
const roundMs = 24 * 3_600_000

/**
 * The clock of loops that poll for work. Without work, a sleep lasts until the next round, because a year has 30
 * million seconds and polling in each of them would find nothing. After `wake`, sleeps have their normal length for a
 * while.
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

  /** Reports that there may be work for `forMs`. */
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
