import { type IncomingMessage, ServerResponse } from "node:http"

interface Entry {
  bytes: number
  /** Bytes of its text in addition to the characters, which Node counts instead. */
  moreBytes: number
  unreadBytes: number
  /** Unix milliseconds of the last observed progress, or of the response's start. */
  progressAt: number
}

const stalledMs = 5_000

/** The cast: Node's types lack this property, which alone shows progress within a chunk that is sent in part. */
const unreadBytesOf = ({ req: { socket }, writableLength }: ServerResponse): number => {
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null }
  return writableLength + (handle?.writeQueueSize ?? 0)
}

/** Cuts below the limit, so that not every response triggers another cut. */
const shareAfterCut = 7 / 8

/** Clients that read nothing would exhaust memory. Disconnects the longest stalled, then those with the most unread. */
export class ResponseBacklog {
  private readonly entries = new Map<ServerResponse, Entry>()
  private readonly maxBytes: number
  private readonly nowMs: () => number
  private readonly onCut: () => void
  /** An upper bound: includes bytes sent since the last count. */
  private bytes = 0

  constructor(maxBytes: number, nowMs: () => number, onCut: () => void) {
    this.maxBytes = maxBytes
    this.nowMs = nowMs
    this.onCut = onCut
  }

  /** `piece` is what was written last. */
  readonly add = (response: ServerResponse, piece: unknown): void => {
    if (response.writableLength === 0 || response.destroyed) return
    const entry = this.entries.get(response)
    if (entry === undefined) response.once("close", () => this.remove(response))
    const more = typeof piece === "string" ? Buffer.byteLength(piece) - piece.length : 0
    const moreBytes = (entry?.moreBytes ?? 0) + more
    const bytes = response.writableLength + moreBytes
    this.bytes += bytes - (entry?.bytes ?? 0)
    const progressAt = entry?.progressAt ?? this.nowMs()
    this.entries.set(response, { bytes, moreBytes, unreadBytes: unreadBytesOf(response), progressAt })
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
      if (response.writableLength === 0) entry.moreBytes = 0
      entry.bytes = response.writableLength + entry.moreBytes
      this.bytes += entry.bytes
    }
  }

  /** Recounts, then disconnects clients above the limit. Spares the newest response, which had no time to be read. */
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

/**
 * Response class that reports its queued bytes to the backlog. The casts: an override cannot repeat the overloads of
 * Node, so it takes any arguments and passes them on unchanged.
 */
export const responseClassOf = (backlog: ResponseBacklog) =>
  class extends ServerResponse {
    override write(...args: ReadonlyArray<unknown>): boolean {
      const hasRoom = super.write(...(args as Parameters<ServerResponse["write"]>))
      backlog.add(this, args[0])
      return hasRoom
    }

    override end(...args: ReadonlyArray<unknown>): this {
      // Effect has Node check the length of each body. For a body in one piece, which Effect has measured, the check costs
      // an empty second piece: a `writev` instead of a `write`.
      if (args.length > 0) this.strictContentLength = false
      super.end(...(args as Parameters<ServerResponse["end"]>))
      backlog.add(this, args[0])
      return this
    }
  }
