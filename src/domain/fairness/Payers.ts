/** The account that pays for work, or all accounts whose requests share the work. */
export type Payer = string | Payers

/**
 * The accounts that wait for shared work. A request that joins another account's work adds its own account, so that the
 * work goes ahead at the place of whichever account is served first: nobody waits in a stranger's place.
 */
export class Payers {
  readonly #counts = new Map<string, number>()
  readonly #listeners = new Set<() => void>()

  get ids(): ReadonlyArray<string> {
    return [...this.#counts.keys()]
  }

  /** Returns a function that removes the payer. */
  add(payer: Payer): () => void {
    if (typeof payer === "string") return this.#addAccount(payer)
    let removers: ReadonlyArray<() => void> = []
    const follow = (): void => {
      const previous = removers
      removers = payer.ids.map((id) => this.#addAccount(id))
      for (const remove of previous) remove()
    }
    follow()
    const stop = payer.onChange(follow)
    return () => {
      stop()
      for (const remove of removers) remove()
      removers = []
    }
  }

  /** Calls `listener` after accounts joined or left. Returns a function that ends this. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #addAccount(id: string): () => void {
    this.#count(id, 1)
    let isAdded = true
    return () => {
      if (isAdded) this.#count(id, -1)
      isAdded = false
    }
  }

  #count(id: string, change: 1 | -1): void {
    const before = this.#counts.get(id) ?? 0
    if (before + change > 0) this.#counts.set(id, before + change)
    else this.#counts.delete(id)
    if (before === 0 || before + change === 0) for (const listener of [...this.#listeners]) listener()
  }
}
