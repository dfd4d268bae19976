import { createGunzip } from "node:zlib"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, FileSystem, Ref, Result, Stream } from "effect"
import { rootCauseMessage } from "../../domain/rootCause.ts"
import type { Document } from "../../services/index/DocumentIndex.ts"
import { parseLine } from "../../services/index/documentLines.ts"
import { type DocumentProblem, type DocumentSource, DocumentSourceError, explainProblem } from "./DocumentSource.ts"

const parse = (file: string, text: string, index: number): Result.Result<Document, DocumentProblem> =>
  Result.mapError(parseLine(text), (problem) => ({ file, line: index + 1, problem }))

const lines = (path: string, onBytes: (count: number) => Effect.Effect<void>) => {
  const bytes = Stream.unwrap(Effect.map(FileSystem.FileSystem, (files) => files.stream(path))).pipe(
    Stream.tap((chunk) => onBytes(chunk.length))
  )
  const plain = path.endsWith(".gz") ? NodeStream.pipeThroughDuplex(bytes, { evaluate: () => createGunzip() }) : bytes
  return plain.pipe(
    Stream.mapError(
      (error) => new DocumentSourceError({ message: `${path} cannot be read: ${rootCauseMessage(error)}` })
    ),
    Stream.decodeText(),
    Stream.splitLines,
    Stream.zipWithIndex,
    Stream.filter(([line]) => line.trim() !== ""),
    Stream.map(([line, index]) => parse(path, line, index))
  )
}

/** One document per line. Skips empty lines. */
export const open = (path: string): Effect.Effect<DocumentSource, never, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const readBytes = yield* Ref.make(0)
    const { size } = yield* Effect.orElseSucceed(files.stat(path), () => ({ size: 0n }))
    return {
      documents: Stream.concat(
        Stream.fromEffectDrain(Ref.set(readBytes, 0)),
        lines(path, (count) => Ref.update(readBytes, (sum) => sum + count))
      ),
      share: Effect.map(Ref.get(readBytes), (bytes) => Math.min(1, bytes / Math.max(1, Number(size))))
    }
  })

/** Fails at the first invalid line. */
export const read = (path: string): Stream.Stream<Document, DocumentSourceError, FileSystem.FileSystem> =>
  lines(path, () => Effect.void).pipe(
    Stream.mapEffect((line) =>
      Effect.mapError(
        Effect.fromResult(line),
        (problem) =>
          new DocumentSourceError({ message: `${explainProblem(problem)}. Lines before it may have been loaded.` })
      )
    )
  )
