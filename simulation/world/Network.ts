import { Effect, type Exit } from "effect"
import type { Agenda } from "../customers/Agenda.ts"
import type { Chance } from "./Chance.ts"

/** Probabilities of what a link does to messages. */
export interface Weather {
  /** Mean latency in one direction. */
  readonly meanMs: number
  /** The message is lost, and its sender soon notices. */
  readonly loss: number
  /** The message is processed, but its response is lost. */
  readonly cut: number
  /** The message or its response is lost without notice: the sender waits until its timeout. */
  readonly halfOpen: number
  readonly duplicate: number
}

export type Fate = "arrives" | "lost" | "cut" | "half-open" | "twice"

/** A network connection between two machines, which may be closed for a while. */
export interface Line {
  isOpen: boolean
  weather: Weather
}

/** A line as used by one process at its near end. Messages may overtake each other. */
export class Link {
  /** True if the machine at the near end has crashed: nothing returns to it. */
  isGone = false
  private readonly line: Line
  private readonly agenda: Agenda
  private readonly chance: Chance

  constructor(agenda: Agenda, chance: Chance, line: Line) {
    this.agenda = agenda
    this.chance = chance
    this.line = line
  }

  get isOpen(): boolean {
    return this.line.isOpen
  }

  fate(): Fate {
    if (!this.isOpen) return this.chance.isTrue(0.5) ? "lost" : "half-open"
    const { cut, duplicate, halfOpen, loss } = this.line.weather
    let draw = this.chance.real()
    for (const [fate, share] of [
      ["lost", loss],
      ["cut", cut],
      ["half-open", halfOpen],
      ["twice", duplicate]
    ] as const) {
      if (draw < share) return fate
      draw -= share
    }
    return "arrives"
  }

  /** Delivers a message to the other end after the latency. */
  carry(deliver: () => void): void {
    this.agenda.after(this.chance.wait(this.line.weather.meanMs), deliver)
  }

  /** Time until a broken connection is noticed. */
  noticeMs(): number {
    return this.chance.between(1, 200)
  }
}

/** A machine that runs effects for remote callers, such as the store. */
export interface Server {
  /** Runs an effect on the machine, or later if it is frozen. The exit is undefined if the machine crashed before. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>, done: (exit: Exit.Exit<A, E> | undefined) => void) => void
}

/** A broken connection or a missing response. A defect, like a failure of the database. */
export class Unreachable extends Error {
  override readonly name = "Unreachable"
}

export interface Patience {
  /** Maximum time that a caller waits. */
  readonly forMs: number
  /** Retries until the outcome is known, as for a settlement. Other calls are retried only if a response was lost. */
  readonly untilKnown: boolean
}

/** Timeout of the database client: five seconds per statement. */
export const statement: Patience = { forMs: 5_000, untilKnown: false }

/**
 * Runs an effect on a server at the other end of a link, at most once. Every statement of Quarry is idempotent: a retry
 * returns the result of the first run.
 */
export const callOver = <A, E>(
  agenda: Agenda,
  link: Link,
  server: Server,
  effect: Effect.Effect<A, E>,
  patience: Patience = statement
): Effect.Effect<A, E> =>
  Effect.callback<A, E>((resume) => {
    let isOver = false
    let isSent = false
    let result: Exit.Exit<A, E> | undefined
    const end = (exit: Effect.Effect<A, E>) => {
      if (isOver || link.isGone) return
      isOver = true
      timeout.cancel()
      resume(exit)
    }
    const fail = () => end(Effect.die(new Unreachable("the other end did not answer")))
    const again = (ms: number) => void agenda.after(ms, attempt)
    const answer = (fate: Fate) => {
      if (result === undefined || isOver) return
      const exit = result
      if (fate === "cut" || !link.isOpen) again(link.noticeMs())
      else link.carry(() => end(exit))
    }
    const attempt = (): void => {
      if (isOver || link.isGone) return
      const fate = link.fate()
      if (fate === "half-open") {
        if (patience.untilKnown) again(statement.forMs)
        return
      }
      if (fate === "lost") {
        if (patience.untilKnown) again(link.noticeMs())
        else agenda.after(link.noticeMs(), fail)
        return
      }
      link.carry(() => {
        if (isSent) return answer(fate)
        isSent = true
        server.run(effect, (exit) => {
          result = exit
          isSent = exit !== undefined
          if (exit === undefined) again(link.noticeMs())
          else answer(fate)
        })
      })
    }
    const timeout = agenda.after(patience.forMs, fail)
    attempt()
    return Effect.sync(() => {
      isOver = true
      timeout.cancel()
    })
  })

/**
 * A service whose methods run at the other end of a link. `around` gets the method's name and its effect. Methods that
 * do not return an effect, and constants, are those of the service itself.
 */
export const remote = <S extends object>(
  service: S,
  around: <A, E>(name: string, effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
): S => {
  const wrapped: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(service)) {
    if (Effect.isEffect(member)) {
      // Members of services need no context, which the type of a property cannot express here.
      wrapped[name] = around(name, member as Effect.Effect<unknown, unknown>)
    } else if (typeof member === "function") {
      wrapped[name] = (...args: ReadonlyArray<unknown>) => {
        const result: unknown = Reflect.apply(member, service, args)
        return Effect.isEffect(result) ? around(name, result as Effect.Effect<unknown, unknown>) : result
      }
    } else {
      wrapped[name] = member
    }
  }
  // Each member has the same type as the original.
  return wrapped as S
}
