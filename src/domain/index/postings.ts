/**
 * Binary lists of the documents that contain a term. A list is a sequence of blocks in document order, so that later
 * documents can be appended. A block is its size in bytes, then for each document the difference to the previous
 * document number (the first is absolute), the term frequency and the document length. Sizes and numbers are varints;
 * frequency and length are one byte each.
 */

/** A logarithmic scale, on which one step is a difference of 7 %. */
const stepsPerDoubling = 10
const lengthCode = (length: number): number => Math.min(255, Math.round(stepsPerDoubling * Math.log2(1 + length)))
export const lengthOf = (code: number): number => 2 ** (code / stepsPerDoubling) - 1

const maxFrequency = 255

class Bytes {
  #bytes = new Uint8Array(8)
  #length = 0

  push(byte: number): void {
    if (this.#length === this.#bytes.length) {
      const larger = new Uint8Array(this.#length * 2)
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    this.#bytes[this.#length++] = byte
  }

  /** Divides instead of shifting, because document numbers may exceed 32 bits. */
  pushVarint(value: number): void {
    let rest = value
    while (rest >= 0x80) {
      this.push((rest % 0x80) | 0x80)
      rest = Math.floor(rest / 0x80)
    }
    this.push(rest)
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }
}

interface List {
  readonly entries: Bytes
  latest: number
  documents: number
}

export interface TermPostings {
  readonly term: string
  readonly documents: number
  readonly postings: Uint8Array
}

/** Document numbers must increase. */
export class PostingsWriter {
  readonly #lists = new Map<string, List>()
  documents = 0
  length = 0

  add(document: number, frequencies: ReadonlyMap<string, number>, length: number): void {
    const code = lengthCode(length)
    this.documents++
    this.length += length
    for (const [term, frequency] of frequencies) {
      let list = this.#lists.get(term)
      if (list === undefined) {
        list = { entries: new Bytes(), latest: 0, documents: 0 }
        this.#lists.set(term, list)
      }
      list.entries.pushVarint(document - list.latest)
      list.entries.push(Math.min(maxFrequency, frequency))
      list.entries.push(code)
      list.latest = document
      list.documents++
    }
  }

  *terms(): Generator<TermPostings> {
    for (const [term, { documents, entries }] of this.#lists) {
      const size = new Bytes()
      size.pushVarint(entries.bytes.length)
      yield { term, documents, postings: Buffer.concat([size.bytes, entries.bytes]) }
    }
  }
}

/** A truncated list is read up to its last complete entry. */
export class PostingsReader {
  readonly #bytes: Uint8Array
  #at = 0
  #blockEnd = 0
  document = 0
  frequency = 0
  length = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
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

  next(): boolean {
    if (this.#at >= this.#blockEnd) {
      const size = this.#varint()
      this.#blockEnd = this.#at + size
      this.document = 0
    }
    this.document += this.#varint()
    if (this.#at + 2 > this.#bytes.length) return false
    this.frequency = this.#bytes[this.#at++] ?? 0
    this.length = this.#bytes[this.#at++] ?? 0
    return true
  }
}
