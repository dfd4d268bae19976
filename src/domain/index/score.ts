import { lengthOf, makeEntries, PostingsReader } from "./postings.ts"

/** BM25F (Robertson, Zaragoza and Taylor 2004), with the usual constants. Indexing has added up the weighted fields. */
const saturation = 1.2
const lengthMatters = 0.75

export interface Collection {
  readonly documents: number
  readonly length: number
}

export interface ScoredTerm {
  readonly weight: number
  /** In ascending document order, without overlap. */
  readonly lists: ReadonlyArray<Uint8Array>
}

export interface ScoredSlot {
  readonly terms: ReadonlyArray<ScoredTerm>
  /** A document gains at most 2.2 times this. 0 for slots that only filter. */
  readonly worth: number
  /** Documents must match all required slots and no excluded slot. */
  readonly role: "wanted" | "required" | "excluded"
}

export interface Scored {
  readonly document: number
  readonly score: number
}

export const rarity = ({ documents }: Collection, count: number): number =>
  Math.log(1 + (Math.max(documents, count) - count + 0.5) / (count + 0.5))

const windowSize = 65_536

const demandedWords = 2

interface Cursor {
  readonly reader: PostingsReader
  readonly weight: number
}

/** The best documents so far. Holds up to twice the limit before it drops the rest. */
class Best {
  #all: Array<Scored> = []
  readonly #limit: number
  threshold = Number.NEGATIVE_INFINITY

  constructor(limit: number) {
    this.#limit = limit
  }

  add(document: number, score: number): void {
    this.#all.push({ document, score })
    if (this.#all.length >= this.#limit * 2) this.#drop()
  }

  #drop(): void {
    this.#all.sort((a, b) => b.score - a.score || a.document - b.document)
    this.#all.length = Math.min(this.#all.length, this.#limit)
    if (this.#all.length === this.#limit) this.threshold = this.#all.at(-1)?.score ?? this.threshold
  }

  get sorted(): ReadonlyArray<Scored> {
    this.#drop()
    return this.#all
  }
}

class Window {
  readonly entries = makeEntries(windowSize)
  readonly score = new Float64Array(windowSize)
  readonly covered = new Float64Array(windowSize)
  readonly ofSlot = new Float64Array(windowSize)
  readonly seen = new Int32Array(windowSize)
  /** The number of matched required slots; negative if an excluded slot matched. */
  readonly required = new Int16Array(windowSize)
  readonly touched = new Int32Array(windowSize)
  touchedCount = 0
  readonly isTouched = new Uint8Array(windowSize)

  clear(): void {
    for (let index = 0; index < this.touchedCount; index++) {
      const at = this.touched[index] ?? 0
      this.score[at] = 0
      this.covered[at] = 0
      this.required[at] = 0
      this.isTouched[at] = 0
    }
    this.touchedCount = 0
  }
}

/** Too large to allocate for each search, so all searches share it. Each search clears it. */
const window = new Window()

const roles: ReadonlyArray<ScoredSlot["role"]> = ["required", "wanted", "excluded"]

/** Slots that can rule out the most documents come first. */
const inReadingOrder = (slots: ReadonlyArray<ScoredSlot>): ReadonlyArray<ScoredSlot> =>
  slots.toSorted((a, b) => roles.indexOf(a.role) - roles.indexOf(b.role) || b.worth - a.worth)

const cursorsOf = (slots: ReadonlyArray<ScoredSlot>): ReadonlyArray<ReadonlyArray<Cursor>> =>
  slots.map(({ terms }) =>
    terms.flatMap(({ lists, weight }) => lists.map((list) => ({ reader: new PostingsReader(list), weight })))
  )

/**
 * Collects the best score of each document over the terms of a slot. Without `addsDocuments`, skips documents that no
 * earlier slot matched. Returns the number of documents in `seen`.
 */
const readSlot = (
  cursors: ReadonlyArray<Cursor>,
  start: number,
  norms: Float64Array,
  addsDocuments: boolean
): number => {
  const { entries, isTouched, ofSlot, seen } = window
  const { documents, frequencies, lengths } = entries
  let seenCount = 0
  for (const { reader, weight } of cursors) {
    const count = reader.read(start, entries)
    for (let index = 0; index < count; index++) {
      const at = documents[index] ?? 0
      if (!addsDocuments && isTouched[at] === 0) continue
      const frequency = frequencies[index] ?? 0
      const score = (weight * frequency * (saturation + 1)) / (frequency + (norms[lengths[index] ?? 0] ?? 0))
      const before = ofSlot[at] ?? 0
      if (before === 0) seen[seenCount++] = at
      if (score > before) ofSlot[at] = score
    }
  }
  return seenCount
}

/** Adds a slot's scores to the window. Returns the cursors that have more documents. */
const addSlot = (
  { role, worth }: ScoredSlot,
  cursors: ReadonlyArray<Cursor>,
  start: number,
  norms: Float64Array,
  addsDocuments: boolean
): ReadonlyArray<Cursor> => {
  const seenCount = readSlot(cursors, start, norms, addsDocuments)
  const { covered, isTouched, ofSlot, required, score, seen, touched } = window
  for (let index = 0; index < seenCount; index++) {
    const at = seen[index] ?? 0
    if (isTouched[at] === 0) {
      isTouched[at] = 1
      touched[window.touchedCount++] = at
    }
    score[at] = (score[at] ?? 0) + worth * (ofSlot[at] ?? 0)
    covered[at] = (covered[at] ?? 0) + worth
    ofSlot[at] = 0
    if (role === "required") required[at] = (required[at] ?? 0) + 1
    if (role === "excluded") required[at] = -slotLimit
  }
  return cursors.filter(({ reader }) => reader.document !== Number.POSITIVE_INFINITY)
}

const slotLimit = 10_000

/** Above the rounding errors of a sum of scores. */
const tolerance = 1 + 1e-9

/** For each slot, the highest score of a document that no earlier slot matched. */
const boundsOf = (slots: ReadonlyArray<ScoredSlot>, total: number, power: number): ReadonlyArray<number> => {
  let gain = 0
  let covered = 0
  const bounds = slots.toReversed().map(({ role, terms, worth }) => {
    if (role === "excluded") return 0
    gain += worth * (saturation + 1) * terms.reduce((most, { weight }) => Math.max(most, weight), 0)
    covered += worth
    return total === 0 ? gain : gain * tolerance * Math.min(1, covered / total) ** power
  })
  return bounds.toReversed()
}

/**
 * Best first. The smaller the matched share of the query, the lower the score; less so for long queries.
 *
 * Documents that only match slots of little worth cannot be among the best as soon as enough better ones are known
 * (MaxScore: Turtle and Flood 1995). They are not scored.
 */
export const bestDocuments = (
  unordered: ReadonlyArray<ScoredSlot>,
  { documents, length }: Collection,
  limit: number
): ReadonlyArray<Scored> => {
  const average = Math.max(1, length / Math.max(1, documents))
  const norms = Float64Array.from(
    { length: 256 },
    (_, code) => saturation * (1 - lengthMatters + (lengthMatters * lengthOf(code)) / average)
  )
  const slots = inReadingOrder(unordered)
  const total = slots.reduce((sum, { role, worth }) => sum + (role === "excluded" ? 0 : worth), 0)
  const required = slots.filter(({ role }) => role === "required").length
  const power = Math.min(1, demandedWords / Math.max(1, slots.filter(({ worth }) => worth > 0).length))
  const bounds = boundsOf(slots, total, power)
  const best = new Best(limit)
  const addsDocuments = (slot: number): boolean =>
    slots[slot]?.role !== "excluded" && (slot === 0 || required === 0) && (bounds[slot] ?? 0) >= best.threshold
  let cursors = cursorsOf(slots)
  for (;;) {
    const first = cursors
      .flat()
      .reduce((least, { reader }) => Math.min(least, reader.document), Number.POSITIVE_INFINITY)
    if (first === Number.POSITIVE_INFINITY) return best.sorted
    const start = Math.floor(first / windowSize) * windowSize
    cursors = cursors.map((each, slot) => {
      const scored = slots[slot]
      return scored === undefined ? each : addSlot(scored, each, start, norms, addsDocuments(slot))
    })
    for (let index = 0; index < window.touchedCount; index++) {
      const at = window.touched[index] ?? 0
      const score = window.score[at] ?? 0
      if ((window.required[at] ?? 0) < required || score < best.threshold) continue
      const share = total === 0 ? 1 : (window.covered[at] ?? 0) / total
      const whole = score * share ** power
      if (whole >= best.threshold && (score > 0 || required > 0)) best.add(start + at, whole)
    }
    window.clear()
  }
}
