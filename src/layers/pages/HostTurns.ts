import type { Gate } from "../../services/fairness/FairSlots.ts"

/** Per host and process (R60). */
export const maxConcurrent = 4

/** Per host in any `windowMs` (R60). */
export const maxStarts = 10
const windowMs = 1_000

interface Host {
  running: number
  /** Times of the latest requests, oldest first. */
  readonly starts: Array<number>
}

/** The request limits of each host. Waiting for a host's turn holds nothing (R83). */
export class HostTurns {
  /** Least recently used first. */
  private readonly hosts = new Map<string, Host>()

  get size(): number {
    return this.hosts.size
  }

  gateOf(name: string): Gate {
    return {
      opensAt: (now) => {
        const host = this.hosts.get(name)
        if (host === undefined) return now
        if (host.running >= maxConcurrent) return Number.POSITIVE_INFINITY
        const earliest = host.starts.length < maxStarts ? undefined : host.starts[0]
        return earliest === undefined ? now : earliest + windowMs
      },
      enter: (now) => {
        this.forget(now)
        const host = this.hosts.get(name) ?? { running: 0, starts: [] }
        this.hosts.delete(name)
        this.hosts.set(name, host)
        host.running++
        host.starts.push(now)
        if (host.starts.length > maxStarts) host.starts.shift()
      },
      leave: () => {
        const host = this.hosts.get(name)
        if (host !== undefined) host.running--
      }
    }
  }

  private forget(now: number): void {
    for (const [name, { running, starts }] of this.hosts) {
      if (running > 0) continue
      if ((starts.at(-1) ?? 0) + windowMs > now) return
      this.hosts.delete(name)
    }
  }
}
