import type { BulkLine, PagesLine } from "./api.ts"
import type { Call } from "./Call.ts"
import { type Connection, type Outgoing, send } from "./send.ts"

type Body = ReadableStream<Uint8Array>

const maxLineUnits = 4 * 2 ** 20

/** The lines of a stream as they arrive, and at its end the failure that ended it, if there was one. */
async function* readLines<L>(body: Body, call: Call): AsyncGenerator<L, unknown> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ""
  for (;;) {
    let lines: Array<L>
    try {
      call.startTimer()
      const { done, value } = await reader.read()
      call.stopTimer()
      if (done) return undefined
      const texts = (rest + decoder.decode(value, { stream: true })).split("\n")
      rest = texts.pop() ?? ""
      if (rest.length > maxLineUnits) throw new TypeError("A line of the stream is too long")
      // Empty lines keep the connection open.
      lines = texts.filter((text) => text.trim() !== "").map((text) => JSON.parse(text))
    } catch (cause) {
      call.check()
      return cause
    }
    yield* lines
  }
}

/** A batch line by line. One with a key goes on after a cut, with the lines that have not come yet. */
export async function* streamLines<L extends BulkLine | PagesLine>(
  connection: Connection,
  call: Call,
  outgoing: Omit<Outgoing<Body>, "read">
): AsyncGenerator<L, void> {
  const read = async ({ body }: Response): Promise<Body> => {
    if (body === null) throw new TypeError("The answer has no body")
    return body
  }
  const rows = new Set<number>()
  let isBegun = false
  try {
    for (;;) {
      const lines = readLines<L>(await send(connection, call, { ...outgoing, read }), call)
      let next = await lines.next()
      for (; next.done !== true; next = await lines.next()) {
        const line = next.value
        // After an abort, lines that have already arrived are dropped too.
        call.check()
        if (line.type === "batch" ? isBegun : line.type === "row" && rows.has(line.index)) continue
        if (line.type === "row") rows.add(line.index)
        isBegun = true
        yield line
        if (line.type === "summary") return
      }
      call.startTimer()
      if (call.idempotencyKey === undefined || !(await call.backOff())) {
        const message = `The stream ended after ${rows.size} rows, before its summary.`
        throw call.error({ error: "cut", message, rows: rows.size }, next.value)
      }
    }
  } finally {
    call.end()
  }
}
