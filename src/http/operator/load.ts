import { Effect, Fiber, Option, Ref, Result, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { InvalidRequest, internalError } from "../../domain/errors.ts"
import type { Target } from "../../domain/search/Target.ts"
import {
  type Document,
  DocumentIndex,
  type LoadReport,
  maxUnaskedShare,
  removesMuch
} from "../../services/index/DocumentIndex.ts"
import { parseLine } from "../../services/index/documentLines.ts"
import { recordFirst } from "../../services/operations/audited.ts"
import { jsonLines } from "../requests/accept.ts"
import { readBytes } from "../requests/body.ts"
import { logFault } from "../responses/logFault.ts"

/** A body arrives within 30 seconds and is held in memory. Larger files come in several requests. */
const maxBytes = 16 * 1024 * 1024
const bodyLimit = {
  bytes: maxBytes,
  error: InvalidRequest.whole("the body is larger than 16 MiB or could not be read; send a larger file in parts")
}

const maxProblems = 100

interface Parsed {
  readonly documents: ReadonlyArray<Document>
  readonly failed: number
  readonly problems: ReadonlyArray<{ readonly line: number; readonly problem: string }>
}

const parse = (text: string): Parsed => {
  const documents: Array<Document> = []
  const problems: Array<{ readonly line: number; readonly problem: string }> = []
  let failed = 0
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    const parsed = parseLine(line)
    if (Result.isSuccess(parsed)) {
      documents.push(parsed.success)
      continue
    }
    failed++
    if (problems.length < maxProblems) problems.push({ line: index + 1, problem: parsed.failure })
  }
  return { documents, failed, problems }
}

interface Parameters {
  readonly target?: Target | undefined
  readonly replace?: "true" | "false" | undefined
  readonly yes?: "true" | "false" | undefined
}

const replacement = { under: undefined }

const requireConfirmed = Effect.fnUntraced(function* ({ documents }: Parsed, target: Target | undefined) {
  const index = yield* DocumentIndex
  const comparison = yield* index.compare(Stream.fromIterable(documents), { target, replace: replacement })
  if (!removesMuch(comparison)) return
  return yield* InvalidRequest.fromIssues([
    {
      field: "yes",
      message: `must be true: this would remove ${comparison.removed} of the ${comparison.documents} documents in the index, more than ${maxUnaskedShare * 100} %`
    }
  ])
})

const encoder = new TextEncoder()
const line = (json: object): Uint8Array => encoder.encode(`${JSON.stringify(json)}\n`)

const reportOf = (parsed: Parsed, { removed, written }: LoadReport) => ({
  done: true,
  read: parsed.documents.length + parsed.failed,
  written,
  failed: parsed.failed,
  removed,
  problems: parsed.problems
})

/** Loads as many lines as can be parsed, and reports its progress every second. */
export const load = Effect.fnUntraced(function* (
  { replace, target, yes }: Parameters,
  request: HttpServerRequest.HttpServerRequest
) {
  const bytes = yield* readBytes(request, "authenticated", bodyLimit)
  const parsed = parse(new TextDecoder().decode(bytes))
  // As with `index load`, a broken document may still be published, so nothing is removed.
  const replaces = replace === "true" && parsed.failed === 0
  if (replaces && parsed.documents.length === 0) {
    return yield* InvalidRequest.whole("the body has no documents, so there is nothing to replace the others with")
  }
  if (replaces && yes !== "true") yield* requireConfirmed(parsed, target)
  yield* recordFirst({
    command: "index load",
    subject: undefined,
    arguments: { source: "console", target, ...(replaces ? { replace: true } : {}) }
  })
  const index = yield* DocumentIndex
  const lines = Stream.unwrap(
    Effect.gen(function* () {
      const read = yield* Ref.make(0)
      const documents = Stream.tap(Stream.fromIterable(parsed.documents), () => Ref.update(read, (count) => count + 1))
      const loading = yield* Effect.forkScoped(
        index.load(documents, { target, replace: replaces && replacement }).pipe(
          Effect.map((report) => line(reportOf(parsed, report))),
          Effect.catchCause((cause) =>
            Effect.as(logFault(cause), line({ error: "internal_error", message: internalError.message }))
          )
        )
      )
      return Stream.unfold(false, (hasEnded) => {
        if (hasEnded) return Effect.undefined
        return Effect.gen(function* () {
          const last = yield* Effect.timeoutOption(Fiber.join(loading), "1 second")
          if (Option.isSome(last)) return [last.value, true] as const
          return [line({ read: yield* Ref.get(read), failed: parsed.failed }), false] as const
        })
      })
    })
  )
  return HttpServerResponse.stream(lines, {
    contentType: jsonLines,
    headers: { "x-accel-buffering": "no" }
  })
})
