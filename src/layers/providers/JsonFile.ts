import { Effect, FileSystem } from "effect"
import { EntryInvalid } from "./ProviderType.ts"

const invalid = (problem: string) => new EntryInvalid({ faults: [{ path: "", problem }] })

/** Only the position: the rest of the message quotes the text, which may hold secrets. */
const jsonPosition = (error: unknown): string =>
  error instanceof Error ? (/at position \d+(?: \(line \d+ column \d+\))?/.exec(error.message)?.[0] ?? "") : ""

export const readJsonFile = Effect.fnUntraced(function* (path: string) {
  const files = yield* FileSystem.FileSystem
  const text = yield* files
    .readFileString(path)
    .pipe(Effect.mapError((error) => invalid(`cannot be read (${error.reason._tag})`)))
  return yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) => invalid(`is not JSON ${jsonPosition(error)}`.trim())
  })
})
