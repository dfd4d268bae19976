import type { Effect, FileSystem, Path, Result, Stream } from "effect"
import { OperatorError } from "../../domain/OperatorError.ts"
import type { Document } from "../../services/index/DocumentIndex.ts"

export class DocumentSourceError extends OperatorError("DocumentSourceError") {}

export interface DocumentProblem {
  readonly file: string
  /** Starts at 1. Undefined if the problem concerns the whole file. */
  readonly line: number | undefined
  readonly problem: string
}

/** Can be read repeatedly. */
export interface DocumentSource {
  readonly documents: Stream.Stream<
    Result.Result<Document, DocumentProblem>,
    DocumentSourceError,
    FileSystem.FileSystem | Path.Path
  >
  /** From 0 to 1. */
  readonly share: Effect.Effect<number>
}

/** "docs/a.md line 3: has no title" */
export const explainProblem = ({ file, line, problem }: DocumentProblem): string =>
  `${file}${line === undefined ? "" : ` line ${line}`}: ${problem}`
