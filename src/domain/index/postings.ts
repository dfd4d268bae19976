/**
 * A posting list is a sequence of blocks in document order, so that later documents can be appended. A block has its
 * size in bytes, then for each document: the difference to the previous document number (absolute for the first), the
 * term frequency (1 byte) and the document length (1 byte). Sizes and numbers are varints.
 */

/** Lengths are stored on a logarithmic scale in steps of 7 %. */
const stepsPerDoubling = 10
const lengthCode = (length: number): number => Math.min(255, Math.round(stepsPerDoubling * Math.log2(1 + length)))
export const lengthOf = (code: number): number => 2 ** (code / stepsPerDoubling) - 1

const maxFrequency = 255

const varintSize = (value: number): number => {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  return size
}

/** Returns the position after the number. Divides instead of shifting, because document numbers may exceed 32 bits. */
const writeVarint = (bytes: Uint8Array, start: number, value: number): number => {
  let at = start
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80
  bytes[at++] = rest
  return at
}

export interface TermPostings {
  readonly term: string
  readonly documents: number
  readonly postings: Uint8Array
}

/** `latest` is the last document number. `size` is in bytes. */
interface List {
  readonly term: string
  documents: number
  latest: number
  size: number
  at: number
}

/** Collects terms, then writes all lists into one buffer, whose size is then known. Document numbers must increase. */
export class PostingsWriter {
  readonly #lists = new Map<string, List>()
  readonly #documents: Array<{ readonly document: number; readonly code: number; readonly entries: number }> = []
  readonly #entryLists: Array<List> = []
  readonly #entryFrequencies: Array<number> = []
  length = 0

  get documents(): number {
    return this.#documents.length
  }

  add(document: number, frequencies: ReadonlyMap<string, number>, length: number): void {
    this.length += length
    this.#documents.push({ document, code: lengthCode(length), entries: frequencies.size })
    for (const [term, frequency] of frequencies) {
      let list = this.#lists.get(term)
      if (list === undefined) {
        list = { term, documents: 0, latest: 0, size: 0, at: 0 }
        this.#lists.set(term, list)
      }
      list.documents++
      list.size += varintSize(document - list.latest) + 2
      list.latest = document
      this.#entryLists.push(list)
      this.#entryFrequencies.push(Math.min(maxFrequency, frequency))
    }
  }

  *terms(): Generator<TermPostings> {
    const lists = [...this.#lists.values()]
    const bytes = Buffer.allocUnsafe(lists.reduce((sum, { size }) => sum + varintSize(size) + size, 0))
    let start = 0
    for (const list of lists) {
      list.at = writeVarint(bytes, start, list.size)
      list.latest = 0
      start = list.at + list.size
    }
    this.#writeEntries(bytes)
    for (const { at, documents, size, term } of lists) {
      yield { term, documents, postings: bytes.subarray(at - size - varintSize(size), at) }
    }
  }

  #writeEntries(bytes: Uint8Array): void {
    let entry = 0
    for (const { code, document, entries } of this.#documents) {
      for (const end = entry + entries; entry < end; entry++) {
        const list = this.#entryLists[entry]
        if (list === undefined) continue
        const at = writeVarint(bytes, list.at, document - list.latest)
        bytes[at] = this.#entryFrequencies[entry] ?? 0
        bytes[at + 1] = code
        list.at = at + 2
        list.latest = document
      }
    }
  }
}

export interface Entries {
  /** Relative to the start of the window. */
  readonly documents: Int32Array
  readonly frequencies: Uint8Array
  readonly lengths: Uint8Array
}

export const makeEntries = (size: number): Entries => ({
  documents: new Int32Array(size),
  frequencies: new Uint8Array(size),
  lengths: new Uint8Array(size)
})

/** Reads a truncated list up to its last complete entry. `document` is infinite at the end of the list. */
export class PostingsReader {
  readonly #bytes: Uint8Array
  #at = 0
  #blockEnd = 0
  document = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#advance()
  }

  #varint(): number {
    const bytes = this.#bytes
    let value = 0
    let scale = 1
    while (this.#at < bytes.length) {
      const byte = bytes[this.#at++] ?? 0
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      scale *= 0x80
    }
    return Number.POSITIVE_INFINITY
  }

  #advance(): void {
    if (this.#at >= this.#blockEnd) {
      const size = this.#varint()
      this.#blockEnd = this.#at + size
      this.document = 0
    }
    this.document += this.#varint()
    if (this.#at + 2 > this.#bytes.length) this.document = Number.POSITIVE_INFINITY
  }

  /** Decodes a window that starts at document `start` and is as long as the arrays. Returns the number of entries. */
  read(start: number, { documents, frequencies, lengths }: Entries): number {
    const bytes = this.#bytes
    const last = bytes.length - 3
    const end = start + documents.length
    let count = 0
    let at = this.#at
    let document = this.document
    while (document < end && count < documents.length) {
      documents[count] = document - start
      frequencies[count] = bytes[at] ?? 0
      lengths[count] = bytes[at + 1] ?? 0
      count++
      at += 2
      const difference = bytes[at] ?? 0
      if (difference < 0x80 && at < this.#blockEnd && at <= last) {
        document += difference
        at++
      } else {
        this.#at = at
        this.document = document
        this.#advance()
        at = this.#at
        document = this.document
      }
    }
    this.#at = at
    this.document = document
    return count
  }
}
