import { Effect, type Fiber } from "effect"
import type { Incoming, Replica } from "../Replica.ts"
import type { Link } from "../world/Network.ts"
import type { Agenda } from "./Agenda.ts"

/** An answer as its client got it. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

/** The end of a request. */
export type Outcome =
  /** The whole answer came. */
  | { readonly _tag: "answered"; readonly reply: Reply }
  /** It reached a replica, and its answer did not come, or not to its end. `text` is what came. */
  | { readonly _tag: "cut"; readonly text: string }
  /** It reached nobody. */
  | { readonly _tag: "unsent" }

/** The longest that a client waits. A batch may take 60 seconds, and settling it some more. */
const clientPatienceMs = 130_000

interface Way {
  readonly agenda: Agenda
  readonly link: Link
  /** The replica that a load balancer picks; undefined where none takes requests. */
  readonly replica: () => Replica | undefined
  /** The time after which the client leaves, where it does not wait for the answer. */
  readonly leavesAfterMs?: number | undefined
}

/** Sends a request over the internet and waits for what comes back. */
export const send = (incoming: Incoming, { agenda, leavesAfterMs, link, replica }: Way): Effect.Effect<Outcome> =>
  Effect.callback<Outcome>((resume) => {
    let isOver = false
    let status = 0
    let headers: Reply["headers"] = {}
    let text = ""
    let target: Replica | undefined
    let fiber: Fiber.Fiber<void> | undefined
    const end = (outcome: Outcome) => {
      if (isOver) return
      isOver = true
      patience.cancel()
      target?.connections.delete(broken)
      resume(Effect.succeed(outcome))
    }
    const leave = () => {
      end(target === undefined ? { _tag: "unsent" } : { _tag: "cut", text })
      if (target?.state !== "off") fiber?.interruptUnsafe()
    }
    const broken = () => void agenda.after(link.noticeMs(), leave)
    const patience = agenda.after(leavesAfterMs ?? clientPatienceMs, leave)
    const fate = link.fate()
    if (fate === "lost") return broken()
    if (fate === "half-open") return
    const isCut = fate === "cut"
    link.carry(() => {
      if (isOver) return
      target = replica()
      if (target === undefined) return broken()
      target.connections.add(broken)
      fiber = target.serve(incoming, {
        head: (itsStatus, itsHeaders) => {
          status = itsStatus
          headers = itsHeaders
        },
        chunk: (piece) => {
          text += piece
        },
        end: () => {
          if (isCut) broken()
          else link.carry(() => end({ _tag: "answered", reply: { status, headers, text } }))
        }
      })
      // A fiber that fails has closed its connection.
      fiber.addObserver((exit) => {
        if (exit._tag === "Failure") broken()
      })
    })
  })
