/** Larger pieces are kept as they arrive and copied only once. */
const largeBytes = 4 * 1024

/** Blocks double up to the maximum, because most bodies have a few kilobytes and a large block takes 4 µs to allocate. */
const firstBlockBytes = 8 * 1024
const maxBlockBytes = 64 * 1024

const empty = Buffer.alloc(0)

/** Collects the pieces of a body. Small ones share blocks: a list of one-byte pieces takes a hundred times the space. */
export class Bytes {
  length = 0
  private parts: Array<Buffer> = []
  private block: Buffer = empty
  /** The part of the block that is not in `parts` yet. */
  private from = 0
  private to = 0

  add(piece: Buffer): void {
    this.length += piece.length
    if (piece.length >= largeBytes) {
      this.closePart()
      this.parts.push(piece)
      return
    }
    if (this.block.length - this.to < piece.length) {
      this.closePart()
      const bytes = Math.min(Math.max(firstBlockBytes, 2 * this.block.length), maxBlockBytes)
      this.block = Buffer.allocUnsafe(bytes)
      this.from = 0
      this.to = 0
    }
    this.to += piece.copy(this.block, this.to)
  }

  get whole(): Buffer {
    this.closePart()
    const [first = empty] = this.parts
    if (this.parts.length <= 1) return first
    const whole = Buffer.concat(this.parts, this.length)
    this.parts = [whole]
    return whole
  }

  private closePart(): void {
    if (this.to > this.from) this.parts.push(this.block.subarray(this.from, this.to))
    this.from = this.to
  }
}
