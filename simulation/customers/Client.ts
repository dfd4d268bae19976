import { Effect, type Fiber } from "effect"
import type { CallerKind, OpenRequest } from "../Account.ts"
import type { Incoming, Replica } from "../Replica.ts"
import type { Link } from "../world/Network.ts"
import type { Agenda } from "./Agenda.ts"

/** A response as the client received it. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

/** The outcome of a request. */
export type Outcome =
  /** The complete response arrived. */
  | { readonly _tag: "answered"; readonly reply: Reply }
  /** It reached a replica, but its response was lost or incomplete. `text` is the received part. */
  | { readonly _tag: "cut"; readonly text: string }
  /** It reached no replica. */
  | { readonly _tag: "unsent" }

/** Maximum time that a client waits. A batch takes up to 60 seconds, plus its settlement. */
const clientPatienceMs = 130_000

interface Way {
  readonly agenda: Agenda
  readonly link: Link
  /** The replica that the load balancer selects. Undefined if none accepts requests. */
  readonly replica: () => Replica | undefined
  /** Time after which the client disconnects without waiting for the response. */
  readonly leavesAfterMs?: number | undefined
}

/** Sends a request over the internet and waits for its outcome. */
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
      // A failed fiber has closed its connection.
      fiber.addObserver((exit) => {
        if (exit._tag === "Failure") broken()
      })
    })
  })

/** R50: the message of a 402 names the key's budget if that is exhausted, and not the account's credits. */
export const namesBudget = ({ status, text }: Reply): boolean =>
  status === 402 && text.includes("this API key's budget")

export const credits = (reply: Reply): number => Number(reply.headers["x-credits-used"] ?? 0)

/** A completed request that reached a replica. */
export interface Ended {
  readonly request: OpenRequest
  readonly outcome: Exclude<Outcome, { readonly _tag: "unsent" }>
}

export interface Call {
  readonly method: Incoming["method"]
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly as?: CallerKind
  /** The secret of a key with bounds. Its user checks a 401 itself. */
  readonly key?: string
  /** The client address, if it is not the person's own. */
  readonly address?: string
  /** Maximum charge. */
  readonly credits?: number
  readonly leavesAfterMs?: number | undefined
}
