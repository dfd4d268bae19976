import { createHash } from "node:crypto"

/**
 * A stream of random numbers (sfc32) that depends only on seed and name. Each actor has a separate stream, so that
 * leaving one out does not change the others, as shrinking requires.
 */
export class Chance {
  private a: number
  private b: number
  private c: number
  private counter = 1

  constructor(seed: string) {
    const digest = createHash("sha256").update(seed).digest()
    this.a = digest.readInt32LE(0)
    this.b = digest.readInt32LE(4)
    this.c = digest.readInt32LE(8)
    for (let round = 0; round < 12; round++) this.int()
  }

  /** A 32-bit integer. */
  int(): number {
    const sum = (((this.a + this.b) | 0) + this.counter) | 0
    this.counter = (this.counter + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = ((this.c << 21) | (this.c >>> 11)) + sum
    return sum >>> 0
  }

  /** At least 0 and less than 1. */
  real(): number {
    return this.int() / 4_294_967_296
  }

  /** An integer from `low` to `high`, inclusive. */
  between(low: number, high: number): number {
    return low + Math.floor(this.real() * (high - low + 1))
  }

  isTrue(probability: number): boolean {
    return this.real() < probability
  }

  pick<A>(items: readonly [A, ...Array<A>] | ReadonlyArray<A>): A {
    const item = items[Math.floor(this.real() * items.length)]
    if (item === undefined) throw new Error("nothing to choose from")
    return item
  }

  /** An exponentially distributed wait with this mean. */
  wait(meanMs: number): number {
    return Math.ceil(-meanMs * Math.log(1 - this.real()))
  }

  hex(characters: number): string {
    let text = ""
    while (text.length < characters) text += this.int().toString(16).padStart(8, "0")
    return text.slice(0, characters)
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.int() & 0xff)
  }
}
