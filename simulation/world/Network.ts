import { Effect, type Exit } from "effect"
import type { Agenda } from "../customers/Agenda.ts"
import type { Chance } from "./Chance.ts"

/** The probability of each thing that a link does to messages. */
export interface Weather {
  /** Mean of the way in one direction. */
  readonly meanMs: number
  /** The message does not arrive, and its sender learns it soon. */
  readonly loss: number
  /** The message arrives and is worked on, and the answer does not come back. */
  readonly cut: number
  /** Neither is known: the sender waits as long as it is willing to. */
  readonly halfOpen: number
  /** The message arrives twice. */
  readonly duplicate: number
}

export type Fate = "arrives" | "lost" | "cut" | "half-open" | "twice"

/** The way between two machines, which may be closed for a while, and has weather. */
export interface Line {
  isOpen: boolean
  weather: Weather
}

/** A line as one process at its near end uses it. Messages overtake each other. */
export class Link {
  /** True where the machine at the near end has crashed: nothing comes back to it. */
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

  /** Carries something to the other end, some time later. */
  carry(deliver: () => void): void {
    this.agenda.after(this.chance.wait(this.line.weather.meanMs), deliver)
  }

  /** The time after which the end of a broken connection is noticed. */
  noticeMs(): number {
    return this.chance.between(1, 200)
  }
}

/** A machine that runs effects which come over a link, such as the store. */
export interface Server {
  /** Runs an effect on the machine, later while it is frozen. The exit is undefined where a crash came before it. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>, done: (exit: Exit.Exit<A, E> | undefined) => void) => void
}

/** A connection that broke, or an answer that did not come. It is a defect, as a failure of the database is. */
export class Unreachable extends Error {
  override readonly name = "Unreachable"
}

export interface Patience {
  /** The longest that a caller waits. */
  readonly forMs: number
  /** Asks again until it is known what happened, as for a settlement. Others ask again only where an answer was cut. */
  readonly untilKnown: boolean
}

/** As the database client has it: five seconds for a statement. */
export const statement: Patience = { forMs: 5_000, untilKnown: false }

/**
 * Runs an effect on a server at the other end of a link. It runs there once at most, because each statement of Quarry
 * can be sent again: it is answered then what the first one did.
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
 * A service whose methods run at the other end of a link. `around` gets the method's name and its effect there. Methods
 * that answer no effect, and constants, are those of the service itself.
 */
export const remote = <S extends object>(
  service: S,
  around: <A, E>(name: string, effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
): S => {
  const wrapped: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(service)) {
    if (Effect.isEffect(member)) {
      // Members of services need no context, which the type of a property cannot say here.
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
  // Each member has the type of the one that it stands for.
  return wrapped as S
}
