import { Option, type Tracer } from "effect"
import { ProtobufWriter } from "./ProtobufWriter.ts"
import type { EndedSpan } from "./SpanTracer.ts"

const maxTextChars = 1_024

const kinds: Readonly<Record<Tracer.SpanKind, number>> = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 }
const statusError = 2

/** Flag bits of spans and links: sampled (Trace Context), "remote" is known, and remote. */
const flagSampled = 0x01
const flagHasRemote = 0x100
const flagRemote = 0x200

const flagsOf = (sampled: boolean, remote: boolean): number =>
  flagHasRemote | (sampled ? flagSampled : 0) | (remote ? flagRemote : 0)

/** Field numbers are from opentelemetry-proto 1.x, `trace/v1/trace.proto`. */
export class SpanEncoder {
  private readonly writer = new ProtobufWriter()
  private readonly resource: Readonly<Record<string, unknown>>
  private resourceSpansAt = 0
  private scopeSpansAt = 0
  private held = 0

  constructor(resource: Readonly<Record<string, unknown>>) {
    this.resource = resource
  }

  get count(): number {
    return this.held
  }

  add(span: EndedSpan): void {
    if (this.held++ === 0) this.open()
    const { writer } = this
    const at = writer.begin(2)
    writer.hex(1, span.traceId)
    writer.hex(2, span.spanId)
    const parent = Option.getOrUndefined(span.parent)
    if (parent !== undefined) writer.hex(4, parent.spanId)
    writer.text(5, span.name)
    writer.unsigned(6, kinds[span.kind])
    writer.fixed64(7, span.startTime)
    writer.fixed64(8, span.endTime)
    span.attributes.forEach((value, name) => {
      this.attribute(9, name, value)
    })
    for (const event of span.events) this.event(event)
    if (span.droppedEvents > 0) writer.unsigned(12, span.droppedEvents)
    for (const link of span.links) this.link(link)
    if (span.droppedLinks > 0) writer.unsigned(14, span.droppedLinks)
    if (span.failed) {
      const status = writer.begin(15)
      writer.unsigned(3, statusError)
      writer.end(status)
    }
    writer.fixed32(16, flagsOf(true, parent?._tag === "ExternalSpan"))
    writer.end(at)
  }

  take(): Uint8Array {
    this.writer.end(this.scopeSpansAt)
    this.writer.end(this.resourceSpansAt)
    this.held = 0
    return this.writer.take()
  }

  private open(): void {
    const { writer } = this
    this.resourceSpansAt = writer.begin(1)
    const resource = writer.begin(1)
    for (const name in this.resource) this.attribute(1, name, this.resource[name])
    writer.end(resource)
    this.scopeSpansAt = writer.begin(2)
    const scope = writer.begin(1)
    writer.text(1, "quarry")
    writer.end(scope)
  }

  private event({ attributes, name, time }: EndedSpan["events"][number]): void {
    const { writer } = this
    const at = writer.begin(11)
    writer.fixed64(1, time)
    writer.text(2, name)
    for (const key in attributes) this.attribute(3, key, attributes[key])
    writer.end(at)
  }

  private link({ attributes, span }: Tracer.SpanLink): void {
    const { writer } = this
    const at = writer.begin(13)
    writer.hex(1, span.traceId)
    writer.hex(2, span.spanId)
    for (const key in attributes) this.attribute(4, key, attributes[key])
    writer.fixed32(6, flagsOf(span.sampled, span._tag === "ExternalSpan"))
    writer.end(at)
  }

  private attribute(field: number, name: string, value: unknown): void {
    if (value === undefined || value === null) return
    const { writer } = this
    const at = writer.begin(field)
    writer.text(1, name)
    const valueAt = writer.begin(2)
    if (typeof value === "boolean") writer.unsigned(2, value ? 1 : 0)
    else if (Number.isSafeInteger(value)) writer.signed(3, Number(value))
    else if (typeof value === "number") writer.double(4, value)
    else writer.text(1, String(value).slice(0, maxTextChars))
    writer.end(valueAt)
    writer.end(at)
  }
}
