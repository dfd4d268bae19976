import type { Effect, FileSystem, Path, Result, Stream } from "effect"
import { OperatorError } from "../domain/OperatorError.ts"
import type { Document } from "../services/DocumentIndex.ts"

/** The source as a whole cannot be read. */
export class DocumentSourceError extends OperatorError("DocumentSourceError") {}

/** One thing in a source that is no document. The others are not concerned. */
export interface DocumentProblem {
  readonly file: string
  /** From 1; undefined where the problem is the file's as a whole. */
  readonly line: number | undefined
  readonly problem: string
}

/** Documents to load, from a file, a folder or a sitemap. It can be read more than once. */
export interface DocumentSource {
  readonly documents: Stream.Stream<
    Result.Result<Document, DocumentProblem>,
    DocumentSourceError,
    FileSystem.FileSystem | Path.Path
  >
  /** The share of the source that has been read, from 0 to 1. */
  readonly share: Effect.Effect<number>
}

/** "docs/a.md line 3: has no title" */
export const explainProblem = ({ file, line, problem }: DocumentProblem): string =>
  `${file}${line === undefined ? "" : ` line ${line}`}: ${problem}`
