import type { PGlite } from "@electric-sql/pglite"

export interface Opened {
  readonly database: PGlite
  /** Closes the files without writing to them. */
  readonly abandon: () => Promise<void>
}

/** A start blocks the process for a fifth of a second, and each statement that arrives meanwhile would try one. */
const reopenAfterMs = 1_000

/**
 * The embedded database of one process. Postgres aborts if it cannot write its log, as on a full disk. A server's
 * postmaster would then start it again, from its files; here the next connection does.
 */
export class RunningDatabase {
  #opened: Promise<Opened>
  readonly #open: (() => Promise<Opened>) | undefined
  #triedAt = Number.NEGATIVE_INFINITY

  /** `open` is undefined for a database in memory, which cannot be opened again. */
  constructor(opened: Opened, open: (() => Promise<Opened>) | undefined) {
    this.#opened = Promise.resolve(opened)
    this.#open = open
  }

  async get(): Promise<PGlite> {
    const { database } = await this.#opened.catch((error: unknown) => {
      if (this.#open === undefined || performance.now() - this.#triedAt < reopenAfterMs) throw error
      this.#triedAt = performance.now()
      this.#opened = this.#open()
      return this.#opened
    })
    return database
  }

  /** For a database that has thrown, which it does for no error of a statement. Its memory must not reach the files. */
  async abandon(database: PGlite, error: unknown): Promise<void> {
    const opened = await this.#opened.catch(() => undefined)
    if (this.#open === undefined || opened?.database !== database) return
    this.#opened = Promise.reject(error)
    this.#opened.catch(() => undefined)
    await opened.abandon()
  }

  async close(): Promise<void> {
    const { database } = await this.#opened
    await database.close()
  }
}
