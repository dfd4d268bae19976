import { createGunzip } from "node:zlib"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, FileSystem, Schema, SchemaIssue, Stream } from "effect"
import { OperatorError } from "../domain/OperatorError.ts"
import { rootCauseMessage } from "../domain/rootCause.ts"
import { Document } from "../services/DocumentIndex.ts"

/** The file cannot be read, or a line of it is no document. */
export class DocumentFileError extends OperatorError("DocumentFileError") {}

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Document))
const issues = SchemaIssue.makeFormatterStandardSchemaV1()

/** Lines beyond this are no documents, and one line is held in memory. */
const maxLineCharacters = 1_000_000

const parse = (path: string, line: string, index: number) => {
  const fail = (problem: string) =>
    new DocumentFileError({ message: `${path} line ${index + 1}: ${problem}. Lines before it may have been loaded.` })
  if (line.length > maxLineCharacters) return Effect.fail(fail(`longer than ${maxLineCharacters} characters`))
  return Effect.mapError(decode(line), ({ issue }) => {
    const first = issues(issue).issues[0]
    return fail([first?.path?.join("."), first?.message].filter(Boolean).join(" "))
  })
}

/** The documents of a `.jsonl` or `.jsonl.gz` file, one a line, as a stream. Empty lines are skipped. */
export const read = (path: string): Stream.Stream<Document, DocumentFileError, FileSystem.FileSystem> => {
  const bytes = Stream.unwrap(Effect.map(FileSystem.FileSystem, (files) => files.stream(path)))
  const plain = path.endsWith(".gz") ? NodeStream.pipeThroughDuplex(bytes, { evaluate: () => createGunzip() }) : bytes
  return plain.pipe(
    Stream.mapError(
      (error) => new DocumentFileError({ message: `${path} cannot be read: ${rootCauseMessage(error)}` })
    ),
    Stream.decodeText(),
    Stream.splitLines,
    Stream.zipWithIndex,
    Stream.filter(([line]) => line.trim() !== ""),
    Stream.mapEffect(([line, index]) => parse(path, line, index))
  )
}
