const varintType = 0
const fixed64Type = 1
const delimitedType = 2
const fixed32Type = 5

const firstBytes = 65_536
const maxVarintBytes = 10
const maxUnitBytes = 3

/** The value of a hex digit, in upper or lower case. */
const nibble = (code: number): number => (code & 0xf) + (code >> 6) * 9

const viewOf = ({ buffer, byteLength, byteOffset }: Buffer) => new DataView(buffer, byteOffset, byteLength)

export class ProtobufWriter {
  private bytes = Buffer.alloc(firstBytes)
  private view = viewOf(this.bytes)
  private at = 0

  take(): Uint8Array {
    const taken = new Uint8Array(this.bytes.subarray(0, this.at))
    this.at = 0
    return taken
  }

  /** Returns the message's position for `end`. */
  begin(field: number): number {
    this.reserve(2 * maxVarintBytes)
    this.key(field, delimitedType)
    // Reserves one byte for the length. `end` moves the few messages that need more.
    return this.at++
  }

  end(lengthAt: number): void {
    const length = this.at - lengthAt - 1
    let shift = 0
    for (let rest = length; rest > 0x7f; rest >>>= 7) shift++
    if (shift > 0) {
      this.reserve(shift)
      this.bytes.copyWithin(lengthAt + 1 + shift, lengthAt + 1, this.at)
    }
    this.at = lengthAt
    this.varint(length)
    this.at += length
  }

  text(field: number, text: string): void {
    const { length } = text
    this.reserve(2 * maxVarintBytes + length * maxUnitBytes)
    this.key(field, delimitedType)
    const lengthAt = this.at
    this.varint(length)
    const { bytes } = this
    let { at } = this
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code > 0x7f) {
        this.at = lengthAt
        this.varint(Buffer.byteLength(text))
        this.at += bytes.write(text, this.at)
        return
      }
      bytes[at++] = code
    }
    this.at = at
  }

  hex(field: number, digits: string): void {
    this.reserve(2 * maxVarintBytes + digits.length)
    this.key(field, delimitedType)
    this.varint(digits.length / 2)
    const { bytes } = this
    let { at } = this
    for (let i = 0; i < digits.length; i += 2) {
      bytes[at++] = (nibble(digits.charCodeAt(i)) << 4) | nibble(digits.charCodeAt(i + 1))
    }
    this.at = at
  }

  /** At most 53 bits. */
  unsigned(field: number, value: number): void {
    this.reserve(2 * maxVarintBytes)
    this.key(field, varintType)
    this.varint(value)
  }

  /** At most 53 bits. Negative values are encoded as two's complement in 64 bits. */
  signed(field: number, value: number): void {
    this.reserve(2 * maxVarintBytes)
    this.key(field, varintType)
    if (value >= 0) this.varint(value)
    else {
      let rest = BigInt.asUintN(64, BigInt(value))
      for (; rest > 0x7fn; rest >>= 7n) this.bytes[this.at++] = Number(rest & 0x7fn) | 0x80
      this.bytes[this.at++] = Number(rest)
    }
  }

  double(field: number, value: number): void {
    this.reserve(2 * maxVarintBytes)
    this.key(field, fixed64Type)
    this.view.setFloat64(this.at, value, true)
    this.at += 8
  }

  fixed64(field: number, value: bigint): void {
    this.reserve(2 * maxVarintBytes)
    this.key(field, fixed64Type)
    this.view.setBigUint64(this.at, value, true)
    this.at += 8
  }

  fixed32(field: number, value: number): void {
    this.reserve(2 * maxVarintBytes)
    this.key(field, fixed32Type)
    this.view.setUint32(this.at, value, true)
    this.at += 4
  }

  private key(field: number, type: number): void {
    this.varint((field << 3) | type)
  }

  private varint(value: number): void {
    let rest = value
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) this.bytes[this.at++] = (rest % 0x80) | 0x80
    this.bytes[this.at++] = rest
  }

  private reserve(more: number): void {
    if (this.at + more <= this.bytes.length) return
    const larger = Buffer.alloc(Math.max(2 * this.bytes.length, this.at + more))
    this.bytes.copy(larger, 0, 0, this.at)
    this.bytes = larger
    this.view = viewOf(larger)
  }
}
