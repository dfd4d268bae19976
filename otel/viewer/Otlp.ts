/** The part of OpenTelemetry's wire format (opentelemetry-proto 1.x) that the viewer and tests read, decoded by hand. */

export interface OtlpEvent {
  readonly name: string
  readonly attributes: Attributes
}

export interface OtlpLink {
  readonly traceId: string
  readonly spanId: string
}

export type Attributes = Readonly<Record<string, unknown>>

export interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for the first of a trace. */
  readonly parentSpanId: string
  readonly name: string
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly startNanos: bigint
  readonly endNanos: bigint
  readonly attributes: Attributes
  readonly events: ReadonlyArray<OtlpEvent>
  readonly links: ReadonlyArray<OtlpLink>
  readonly droppedLinks: number
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number
}

export interface OtlpLog {
  readonly traceId: string
  readonly spanId: string
  readonly body: unknown
  readonly attributes: Attributes
}

/** A field as it stands on the wire: its number and a varint, a fixed number, or bytes. */
interface Field {
  readonly number: number
  readonly value: bigint | Buffer
}

const fieldsOf = (message: Buffer): ReadonlyArray<Field> => {
  const fields: Array<Field> = []
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const bytes = (length: number): Buffer => {
    at += length
    return message.subarray(at - length, at)
  }
  while (at < message.length) {
    const tag = Number(varint())
    const type = tag & 7
    const value = type === 0 ? varint() : bytes(type === 1 ? 8 : type === 5 ? 4 : Number(varint()))
    fields.push({ number: tag >> 3, value })
  }
  return fields
}

class Message {
  private readonly fields: ReadonlyArray<Field>

  constructor(bytes: Buffer) {
    this.fields = fieldsOf(bytes)
  }

  private buffers(number: number): ReadonlyArray<Buffer> {
    return this.fields.flatMap((field) =>
      field.number === number && Buffer.isBuffer(field.value) ? [field.value] : []
    )
  }

  has(number: number): boolean {
    return this.fields.some((field) => field.number === number)
  }

  all(number: number): ReadonlyArray<Message> {
    return this.buffers(number).map((bytes) => new Message(bytes))
  }

  text(number: number): string {
    return this.buffers(number)[0]?.toString("utf8") ?? ""
  }

  hex(number: number): string {
    return this.buffers(number)[0]?.toString("hex") ?? ""
  }

  fixed64(number: number): bigint {
    return this.buffers(number)[0]?.readBigUInt64LE() ?? 0n
  }

  double(number: number): number {
    return this.buffers(number)[0]?.readDoubleLE() ?? 0
  }

  varint(number: number): bigint {
    const value = this.fields.find((field) => field.number === number)?.value
    return typeof value === "bigint" ? value : 0n
  }
}

const anyValue = (value: Message | undefined): unknown => {
  if (value === undefined) return undefined
  if (value.has(1)) return value.text(1)
  if (value.has(2)) return value.varint(2) === 1n
  if (value.has(3)) return Number(BigInt.asIntN(64, value.varint(3)))
  if (value.has(4)) return value.double(4)
  return value.has(5) ? value.all(5).flatMap((array) => array.all(1).map(anyValue)) : undefined
}

const attributesOf = (message: Message, number: number): Attributes =>
  Object.fromEntries(message.all(number).map((pair) => [pair.text(1), anyValue(pair.all(2)[0])]))

/** What lies below resource and scope, which a process sends the same with everything. */
const leaves = (body: Buffer): ReadonlyArray<Message> =>
  new Message(body).all(1).flatMap((resource) => resource.all(2).flatMap((scope) => scope.all(2)))

export const decodeSpans = (body: Buffer): ReadonlyArray<OtlpSpan> =>
  leaves(body).map((span) => ({
    traceId: span.hex(1),
    spanId: span.hex(2),
    parentSpanId: span.hex(4),
    name: span.text(5),
    kind: Number(span.varint(6)),
    startNanos: span.fixed64(7),
    endNanos: span.fixed64(8),
    attributes: attributesOf(span, 9),
    events: span.all(11).map((event) => ({ name: event.text(2), attributes: attributesOf(event, 3) })),
    links: span.all(13).map((link) => ({ traceId: link.hex(1), spanId: link.hex(2) })),
    droppedLinks: Number(span.varint(14)),
    status: Number(span.all(15)[0]?.varint(3) ?? 0n)
  }))

export const decodeLogs = (body: Buffer): ReadonlyArray<OtlpLog> =>
  leaves(body).map((log) => ({
    traceId: log.hex(9),
    spanId: log.hex(10),
    body: anyValue(log.all(5)[0]),
    attributes: attributesOf(log, 6)
  }))
