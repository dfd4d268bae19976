import { Effect, FileSystem, Option, Path, Schema } from "effect"
import { OperatorError } from "../../../domain/OperatorError.ts"
import { renameWhole } from "../../../services/wholeFile.ts"

// The state file has the pages that a stopped crawl has loaded, and the versions in the index.

export class CrawlStateError extends OperatorError("CrawlStateError") {}

const PageLine = Schema.Struct({
  url: Schema.String,
  run: Schema.Int,
  /** Hash of the text in the index. Undefined if the page is not in the index. */
  hash: Schema.optionalKey(Schema.String),
  /** The site no longer has the page, or does not want it indexed. */
  isGone: Schema.optionalKey(Schema.Boolean),
  etag: Schema.optionalKey(Schema.String),
  lastModified: Schema.optionalKey(Schema.String),
  movedTo: Schema.optionalKey(Schema.String),
  /** The address that the page states as its own. Its text is in the index under that address. */
  canonical: Schema.optionalKey(Schema.String),
  /** The version of what a crawl keeps of a page. Pages of another version are read again. */
  version: Schema.optionalKey(Schema.Int),
  links: Schema.optionalKey(Schema.Array(Schema.String))
})
export type PageLine = typeof PageLine.Type

const Line = Schema.fromJsonString(Schema.Union([PageLine, Schema.Struct({ finished: Schema.Int })]))
const decodeLine = Schema.decodeUnknownOption(Line)

export interface CrawlState {
  /** A stopped crawl continues under its number. */
  readonly run: number
  readonly isResumed: boolean
  readonly pages: Map<string, PageLine>
  readonly write: (lines: ReadonlyArray<PageLine>) => Effect.Effect<void, CrawlStateError>
  readonly finish: (removed: ReadonlySet<string>) => Effect.Effect<void, CrawlStateError>
}

const toText = (lines: Iterable<unknown>): string => [...lines].map((line) => `${JSON.stringify(line)}\n`).join("")

export const open = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  const { dirname } = yield* Path.Path
  const context = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const orFail = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.mapError(
      effect,
      () => new CrawlStateError({ message: `${file} cannot be read or written. Name another file with --state.` })
    )
  const exists = yield* orFail(files.exists(file))
  const text = exists ? yield* orFail(files.readFileString(file)) : ""
  const pages = new Map<string, PageLine>()
  let finished = 0
  let latest = 0
  for (const line of text.split("\n")) {
    // Ignores a line that a kill cut short.
    const found = Option.getOrUndefined(decodeLine(line))
    if (found === undefined) continue
    if ("finished" in found) finished = found.finished
    else {
      pages.set(found.url, found)
      latest = Math.max(latest, found.run)
    }
  }
  const isResumed = latest > finished
  yield* orFail(files.makeDirectory(dirname(file), { recursive: true }))
  const run = isResumed ? latest : finished + 1
  const state: CrawlState = {
    run,
    isResumed,
    pages,
    write: (lines) => {
      for (const line of lines) pages.set(line.url, line)
      return orFail(files.writeFileString(file, `\n${toText(lines)}`, { flag: "a" }))
    },
    finish: Effect.fnUntraced(function* (removed) {
      const kept = [...pages.values()].filter(
        ({ hash, run: last, url }) => (hash !== undefined || last === run) && !removed.has(url)
      )
      const whole = toText([...kept, { finished: run }])
      yield* orFail(files.writeFileString(`${file}.new`, whole))
      yield* orFail(Effect.provide(renameWhole(`${file}.new`, file), context))
    })
  }
  return state
})
