import { type IncomingMessage, ServerResponse } from "node:http"

interface Entry {
  /** Bytes that were not taken by the client when they were last counted. */
  bytes: number
  /** The count at which there were fewer bytes than at the one before; that of the response's start until then. */
  progressAt: number
}

/** The share of the limit that is left after connections have been cut, so that the next answer does not cut again. */
const shareKept = 7 / 8

/**
 * Bounds the bytes of answers that wait for clients to read them, over all connections. Without it clients that ask for
 * large answers and read none of them fill the memory. Beyond the bound connections are cut: first those that have made
 * no progress for longest, and of these the ones with the most bytes.
 */
export class Unread {
  private readonly entries = new Map<ServerResponse, Entry>()
  private readonly maxBytes: number
  private readonly onCut: () => void
  /** At least the bytes that wait: those that were read since the last count are still in it. */
  private bytes = 0
  private counts = 0

  constructor(maxBytes: number, onCut: () => void) {
    this.maxBytes = maxBytes
    this.onCut = onCut
  }

  /** Counts what a response has just queued. */
  readonly add = (response: ServerResponse): void => {
    const bytes = response.writableLength
    if (bytes === 0 || response.destroyed) return
    const known = this.entries.get(response)
    if (known === undefined) response.once("close", () => this.remove(response))
    this.bytes += bytes - (known?.bytes ?? 0)
    this.entries.set(response, { bytes, progressAt: known?.progressAt ?? this.counts })
    if (this.bytes > this.maxBytes) this.count(response)
  }

  private remove(response: ServerResponse): void {
    this.bytes -= this.entries.get(response)?.bytes ?? 0
    this.entries.delete(response)
  }

  /** Counts anew, and cuts connections where it is still too much. The newest response is spared: nobody could read it yet. */
  private count(newest: ServerResponse): void {
    this.counts++
    this.bytes = 0
    for (const [response, entry] of this.entries) {
      const bytes = response.writableLength
      if (bytes < entry.bytes) entry.progressAt = this.counts
      entry.bytes = bytes
      this.bytes += bytes
    }
    if (this.bytes <= this.maxBytes) return
    const slowest = [...this.entries].sort(([, a], [, b]) => a.progressAt - b.progressAt || b.bytes - a.bytes)
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
