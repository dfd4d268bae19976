/** One growing buffer: a list of one-byte chunks would take a hundred times the space. */
export class Bytes {
  length = 0
  /** Most bodies have a single chunk, which is not copied. */
  private first: Buffer | undefined
  private collected: Buffer | undefined

  add(piece: Buffer): void {
    if (this.first === undefined) this.first = piece
    else this.append(this.first, piece)
    this.length += piece.length
  }

  get whole(): Buffer {
    return this.collected?.subarray(0, this.length) ?? this.first ?? Buffer.alloc(0)
  }

  private append(first: Buffer, piece: Buffer): void {
    const needed = this.length + piece.length
    if (this.collected === undefined || this.collected.length < needed) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.length))
      const collected = this.collected?.subarray(0, this.length) ?? first
      collected.copy(larger)
      this.collected = larger
    }
    piece.copy(this.collected, this.length)
  }
}
