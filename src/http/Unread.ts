import { type IncomingMessage, ServerResponse } from "node:http"

interface Entry {
  /** Bytes in memory for the response when they were last counted. */
  bytes: number
  /** What falls with every byte that the client reads. */
  left: number
  /** Unix milliseconds of the count that found less left than the one before, or of the response's start. */
  progressAt: number
}

/** A client that has read nothing for so long is cut before those that read. */
const stalledMs = 5_000

/**
 * Node keeps a piece in memory until all of it is read, so that only the operating system's side of a socket tells whether
 * a client reads of a large one. Node's own inactivity timeout asks it, too; the property is not in its types.
 */
const leftOf = ({ req: { socket }, writableLength }: ServerResponse): number => {
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null }
  return writableLength + (handle?.writeQueueSize ?? 0)
}

/** The share of the limit that is left after connections have been cut, so that the next answer does not cut again. */
const shareKept = 7 / 8

/**
 * Bounds the bytes of answers that wait for clients to read them, over all connections. Without it clients that ask for
 * large answers and read none of them fill the memory. Beyond the bound connections are cut: first those that have read
 * nothing for longest, then those with the most left to read.
 */
export class Unread {
  private readonly entries = new Map<ServerResponse, Entry>()
  private readonly maxBytes: number
  private readonly nowMs: () => number
  private readonly onCut: () => void
  /** At least the bytes that wait: those that were read since the last count are still in it. */
  private bytes = 0

  constructor(maxBytes: number, nowMs: () => number, onCut: () => void) {
    this.maxBytes = maxBytes
    this.nowMs = nowMs
    this.onCut = onCut
  }

  /** Counts what a response has just queued. */
  readonly add = (response: ServerResponse): void => {
    const bytes = response.writableLength
    if (bytes === 0 || response.destroyed) return
    const known = this.entries.get(response)
    if (known === undefined) response.once("close", () => this.remove(response))
    this.bytes += bytes - (known?.bytes ?? 0)
    this.entries.set(response, { bytes, left: leftOf(response), progressAt: known?.progressAt ?? this.nowMs() })
    if (this.bytes > this.maxBytes) this.shrink(response)
  }

  private remove(response: ServerResponse): void {
    this.bytes -= this.entries.get(response)?.bytes ?? 0
    this.entries.delete(response)
  }

  private count(now: number): void {
    this.bytes = 0
    for (const [response, entry] of this.entries) {
      const left = leftOf(response)
      if (left < entry.left) entry.progressAt = now
      entry.left = left
      entry.bytes = response.writableLength
      this.bytes += entry.bytes
    }
  }

  /** Cuts connections where a new count is too much. The newest response is spared: nobody could read it yet. */
  private shrink(newest: ServerResponse): void {
    const now = this.nowMs()
    this.count(now)
    if (this.bytes <= this.maxBytes) return
    const stalledSince = ({ progressAt }: Entry): number => Math.min(progressAt, now - stalledMs)
    const slowest = [...this.entries].sort(([, a], [, b]) => stalledSince(a) - stalledSince(b) || b.left - a.left)
    for (const [{ req }] of slowest) {
      if (this.bytes <= this.maxBytes * shareKept) return
      if (req.socket !== newest.req.socket && !req.socket.destroyed) this.cut(req)
    }
  }

  private cut({ socket }: IncomingMessage): void {
    for (const response of [...this.entries.keys()]) if (response.req.socket === socket) this.remove(response)
    socket.destroy()
    this.onCut()
  }
}

/** The class of a server's responses, which count what their clients have not read. */
export const countingResponse = (unread: Unread) =>
  class extends ServerResponse {
    override write(...args: ReadonlyArray<unknown>): boolean {
      // The arguments are handed on as they came: the method has several forms.
      const written = super.write(...(args as Parameters<ServerResponse["write"]>))
      unread.add(this)
      return written
    }

    override end(...args: ReadonlyArray<unknown>): this {
      super.end(...(args as Parameters<ServerResponse["end"]>))
      unread.add(this)
      return this
    }
  }
