const lifetimeMs = 10 * 60_000
const maxPages = 10_000

interface Oversized {
  readonly status: number
  readonly expiresAt: number
}

/** The addresses of pages that exceeded the parser's limits in the last ten minutes (R83), in this process. */
export class OversizedPages {
  /** Next to expire first. */
  readonly #pages = new Map<string, Oversized>()

  /** `status` is the site's. */
  add(url: string, status: number, now: number): void {
    this.#pages.delete(url)
    this.#pages.set(url, { status, expiresAt: now + lifetimeMs })
    for (const [oldest, { expiresAt }] of this.#pages) {
      if (expiresAt > now && this.#pages.size <= maxPages) return
      this.#pages.delete(oldest)
    }
  }

  /** The site's status, if the page is too large. */
  statusOf(url: string, now: number): number | undefined {
    const found = this.#pages.get(url)
    return found === undefined || found.expiresAt <= now ? undefined : found.status
  }
}
