/** A unit of the query that a term of a document stands for. */
export interface Match {
  readonly unit: number
  /** 1 for what the query says, less for what it may mean. */
  readonly weight: number
}

/** A term that is looked for in documents, or the beginning of terms. */
export interface SoughtTerm extends Match {
  readonly term: string
  readonly prefix: boolean
}

/** BM25F: what a word counts in each field, how long the field usually is, and how much its length matters. */
const fields = [
  { name: "title", weight: 4, words: 6, lengthMatters: 0.55 },
  { name: "url", weight: 1, words: 8, lengthMatters: 0.3 },
  { name: "description", weight: 1.2, words: 30, lengthMatters: 0.5 },
  { name: "content", weight: 0.6, words: 300, lengthMatters: 0.6 }
] as const
const title = 0
const description = 2

/** The places at which the units of a query stand in one document. */
export interface Occurrences {
  /** Of each unit, over all fields: how often, by the weight of field and alternative. */
  readonly frequency: Float64Array
  /** Of each unit, 1 where it is in the description. */
  readonly inDescription: Uint8Array
  readonly titleWords: number
  readonly matchedTitleWords: number
  /** For each pair of units: 0, or the greatest weight of a place where both stand side by side. */
  readonly nearness: Float64Array
}

/** Units that count more where they stand side by side. */
export interface Neighbours {
  readonly pairs: ReadonlyArray<{ readonly left: number; readonly right: number }>
  readonly inTitle: number
  readonly elsewhere: number
}

const none: ReadonlyArray<Match> = []
const space = 32
const newline = 10

const hashStep = (hash: number, code: number): number => (Math.imul(hash, 31) + code) | 0

const hashOf = (term: string): number => {
  let hash = 0
  for (let at = 0; at < term.length; at++) hash = hashStep(hash, term.charCodeAt(at))
  return hash
}

interface Entry {
  readonly term: string
  readonly matches: Array<Match>
}

/**
 * The matches of a term that is a piece of a text, by its hash. To make a string of each piece would cost more than all else
 * that the ranking does.
 */
const tableOf = (sought: ReadonlyArray<SoughtTerm>) => {
  const mask = 2 ** Math.ceil(Math.log2(4 * sought.length + 16)) - 1
  const buckets: Array<Array<Entry> | undefined> = new Array(mask + 1).fill(undefined)
  for (const { term, unit, weight } of sought) {
    const index = hashOf(term) & mask
    const bucket = buckets[index] ?? []
    buckets[index] = bucket
    const known = bucket.find((entry) => entry.term === term)
    if (known === undefined) bucket.push({ term, matches: [{ unit, weight }] })
    else known.matches.push({ unit, weight })
  }
  const prefixes = sought.filter(({ prefix }) => prefix)
  return (text: string, start: number, end: number, hash: number): ReadonlyArray<Match> => {
    const bucket = buckets[hash & mask]
    if (bucket !== undefined) {
      for (const { matches, term } of bucket) {
        if (term.length === end - start && text.startsWith(term, start)) return matches
      }
    }
    if (prefixes.length === 0) return none
    return prefixes.filter(({ term }) => term.length <= end - start && text.startsWith(term, start))
  }
}

/**
 * Counts the units of a query in the terms of documents, as `documentTerms` makes them. What `read` returns is true until
 * the next document is read: a search reads hundreds of them, all into the same memory.
 */
export class OccurrenceCounter {
  readonly #matchesOf: ReturnType<typeof tableOf>
  readonly #neighbours: Neighbours
  readonly #found: Occurrences & { titleWords: number; matchedTitleWords: number }
  /** As `frequency`, in the field that is read and without the field's weight. */
  readonly #inField: Float64Array

  constructor(sought: ReadonlyArray<SoughtTerm>, units: number, neighbours: Neighbours) {
    this.#matchesOf = tableOf(sought)
    this.#neighbours = neighbours
    this.#inField = new Float64Array(units)
    this.#found = {
      frequency: new Float64Array(units),
      inDescription: new Uint8Array(units),
      nearness: new Float64Array(neighbours.pairs.length),
      titleWords: 0,
      matchedTitleWords: 0
    }
  }

  read(terms: string): Occurrences {
    this.#clear()
    const names = terms.indexOf("\n")
    let start = names === -1 ? terms.length : names + 1
    let field = title
    let words = 0
    let hash = 0
    let before = none
    for (let at = start; at <= terms.length; at++) {
      const code = at === terms.length ? newline : terms.charCodeAt(at)
      if (code !== space && code !== newline) {
        hash = hashStep(hash, code)
        continue
      }
      if (at > start) {
        words++
        const matches = this.#matchesOf(terms, start, at, hash)
        if (matches.length > 0) this.#count(field, before, matches)
        before = matches
      }
      start = at + 1
      hash = 0
      if (code === newline) {
        this.#endField(field, words)
        field++
        words = 0
        before = none
      }
    }
    return this.#found
  }

  #clear(): void {
    this.#found.frequency.fill(0)
    this.#found.inDescription.fill(0)
    this.#found.nearness.fill(0)
    this.#found.matchedTitleWords = 0
  }

  #count(field: number, before: ReadonlyArray<Match>, matches: ReadonlyArray<Match>): void {
    let isNew = false
    for (const { unit, weight } of matches) {
      const times = this.#inField[unit] ?? 0
      // A word counts once in a title.
      if (field === title && times > 0) continue
      isNew = true
      this.#inField[unit] = times + weight
      if (field === description) this.#found.inDescription[unit] = 1
    }
    if (field === title && isNew) this.#found.matchedTitleWords++
    if (before.length > 0) this.#countNear(field, before, matches)
  }

  #countNear(field: number, before: ReadonlyArray<Match>, matches: ReadonlyArray<Match>): void {
    const { elsewhere, inTitle, pairs } = this.#neighbours
    const { nearness } = this.#found
    const near = field === title ? inTitle : elsewhere
    for (const [position, { left, right }] of pairs.entries()) {
      if ((nearness[position] ?? 0) >= near || !before.some(({ unit }) => unit === left)) continue
      if (matches.some(({ unit }) => unit === right)) nearness[position] = near
    }
  }

  #endField(field: number, words: number): void {
    if (field === title) this.#found.titleWords = words
    const weights = fields[field]
    if (weights === undefined) return
    const { frequency } = this.#found
    const scale = weights.weight / (1 - weights.lengthMatters + (weights.lengthMatters * words) / weights.words)
    for (const [unit, times] of this.#inField.entries()) frequency[unit] = (frequency[unit] ?? 0) + times * scale
    this.#inField.fill(0)
  }
}
