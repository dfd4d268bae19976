import { type IncomingMessage, ServerResponse } from "node:http"

interface Entry {
  /** Bytes in memory for the response at the latest count. */
  bytes: number
  /** Bytes that the client has still to read, at the latest count. */
  unreadBytes: number
  /** Unix milliseconds of the latest count that showed progress, or of the response's start. */
  progressAt: number
}

/** Milliseconds without progress after which a client counts as stalled. Stalled clients are disconnected first. */
const stalledMs = 5_000

/**
 * Counts the bytes that a client has still to read. Node holds a chunk in memory until all of it is sent, so that only
 * the socket handle shows progress inside a large one. Node's own inactivity timeout uses this property too; it is not
 * in Node's types.
 */
const unreadBytesOf = ({ req: { socket }, writableLength }: ServerResponse): number => {
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null }
  return writableLength + (handle?.writeQueueSize ?? 0)
}

/** The share of the limit that remains in use after connections were cut. The rest avoids a cut at each response. */
const shareAfterCut = 7 / 8

/**
 * Limits the bytes of responses that wait for clients to read them, over all connections. Without it, clients that
 * request large responses and read nothing fill the memory. Above the limit connections are cut: first those without
 * progress for longest, then those with the most unread bytes.
 */
export class ResponseBacklog {
  private readonly entries = new Map<ServerResponse, Entry>()
  private readonly maxBytes: number
  private readonly nowMs: () => number
  private readonly onCut: () => void
  /** An upper limit of the bytes in memory: what was sent since the latest count is still included. */
  private bytes = 0

  constructor(maxBytes: number, nowMs: () => number, onCut: () => void) {
    this.maxBytes = maxBytes
    this.nowMs = nowMs
    this.onCut = onCut
  }

  /** Counts the bytes that a response has just queued. */
  readonly add = (response: ServerResponse): void => {
    const bytes = response.writableLength
    if (bytes === 0 || response.destroyed) return
    const entry = this.entries.get(response)
    if (entry === undefined) response.once("close", () => this.remove(response))
    this.bytes += bytes - (entry?.bytes ?? 0)
    const progressAt = entry?.progressAt ?? this.nowMs()
    this.entries.set(response, { bytes, unreadBytes: unreadBytesOf(response), progressAt })
    if (this.bytes > this.maxBytes) this.shrink(response)
  }

  private remove(response: ServerResponse): void {
    this.bytes -= this.entries.get(response)?.bytes ?? 0
    this.entries.delete(response)
  }

  private count(now: number): void {
    this.bytes = 0
    for (const [response, entry] of this.entries) {
      const unreadBytes = unreadBytesOf(response)
      if (unreadBytes < entry.unreadBytes) entry.progressAt = now
      entry.unreadBytes = unreadBytes
      entry.bytes = response.writableLength
      this.bytes += entry.bytes
    }
  }

  /** Counts again and cuts connections above the limit. The newest response is spared: its client had no time to read. */
  private shrink(newest: ServerResponse): void {
    const now = this.nowMs()
    this.count(now)
    if (this.bytes <= this.maxBytes) return
    const stalledSince = ({ progressAt }: Entry): number => Math.min(progressAt, now - stalledMs)
    const slowest = [...this.entries].sort(
      ([, a], [, b]) => stalledSince(a) - stalledSince(b) || b.unreadBytes - a.unreadBytes
    )
    for (const [{ req }] of slowest) {
      if (this.bytes <= this.maxBytes * shareAfterCut) return
      if (req.socket !== newest.req.socket && !req.socket.destroyed) this.cut(req)
    }
  }

  private cut({ socket }: IncomingMessage): void {
    for (const response of [...this.entries.keys()]) if (response.req.socket === socket) this.remove(response)
    socket.destroy()
    this.onCut()
  }
}

/** The class of a server's responses: each adds its queued bytes to the backlog. */
export const responseClassOf = (backlog: ResponseBacklog) =>
  class extends ServerResponse {
    override write(...args: ReadonlyArray<unknown>): boolean {
      // The cast: the method has overloads, and the arguments are passed on as they are.
      const hasRoom = super.write(...(args as Parameters<ServerResponse["write"]>))
      backlog.add(this)
      return hasRoom
    }

    override end(...args: ReadonlyArray<unknown>): this {
      super.end(...(args as Parameters<ServerResponse["end"]>))
      backlog.add(this)
      return this
    }
  }
