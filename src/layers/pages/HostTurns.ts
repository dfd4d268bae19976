import { Clock, Effect, Semaphore } from "effect"

/** Per host and process (R60). */
export const maxConcurrent = 4

/** Per host in any `windowMs` (R60). */
export const maxStarts = 10
const windowMs = 1_000

interface Host {
  readonly slots: Semaphore.Semaphore
  /** Start times of the latest requests, oldest first, including scheduled ones. */
  readonly starts: Array<number>
  users: number
}

export class HostTurns {
  private readonly hosts = new Map<string, Host>()

  get size(): number {
    return this.hosts.size
  }

  readonly inTurn =
    (name: string) =>
    <A, E, R>(request: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.acquireUseRelease(
        Effect.map(Clock.currentTimeMillis, (now) => this.enter(name, now)),
        (host) => host.slots.withPermits(1)(Effect.andThen(this.start(host), request)),
        (host) =>
          Effect.sync(() => {
            host.users--
          })
      )

  private enter(name: string, now: number): Host {
    this.forget(now)
    const host = this.hosts.get(name) ?? { slots: Semaphore.makeUnsafe(maxConcurrent), starts: [], users: 0 }
    host.users++
    this.hosts.delete(name)
    this.hosts.set(name, host)
    return host
  }

  private start({ starts }: Host): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const earliest = (starts.length < maxStarts ? undefined : starts.shift()) ?? now - windowMs
      const at = Math.max(now, earliest + windowMs)
      starts.push(at)
      return at === now ? Effect.void : Effect.sleep(at - now)
    })
  }

  private forget(now: number): void {
    for (const [name, { starts, users }] of this.hosts) {
      if (users > 0) continue
      if ((starts.at(-1) ?? 0) + windowMs > now) return
      this.hosts.delete(name)
    }
  }
}
