import { createHash } from "node:crypto"

/** Lines shown for a failure. */
const lastLines = 100
const pieceBytes = 65_536

/** The events of a run, one per line. Two runs were identical if the digests of all lines are. */
export class Trace {
  count = 0
  private readonly hash = createHash("sha256")
  private readonly last: Array<string> = []
  private pending = ""
  private readonly write: ((line: string) => void) | undefined
  private readonly now: () => number

  constructor(now: () => number, write?: (line: string) => void) {
    this.now = now
    this.write = write
  }

  add(who: string, what: string): void {
    const line = `${new Date(this.now()).toISOString()} ${who} ${what}`
    this.count++
    this.pending += `${line}\n`
    if (this.pending.length > pieceBytes) this.flush()
    this.last[this.count % lastLines] = line
    this.write?.(line)
  }

  /** The last lines, oldest first. */
  get tail(): ReadonlyArray<string> {
    const from = this.count + 1
    const ordered = Array.from({ length: lastLines }, (_, index) => this.last[(from + index) % lastLines])
    return ordered.filter((line) => line !== undefined)
  }

  /** SHA-256 of all lines. Ends the trace. */
  digest(): string {
    this.flush()
    return this.hash.digest("hex")
  }

  private flush(): void {
    this.hash.update(this.pending)
    this.pending = ""
  }
}
