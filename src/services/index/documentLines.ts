import { Result, Schema, SchemaIssue } from "effect"
import { Document } from "./DocumentIndex.ts"

const decode = Schema.decodeUnknownResult(Schema.fromJsonString(Document))
const issues = SchemaIssue.makeFormatterStandardSchemaV1()

/** Each line is held in memory. */
const maxLineCharacters = 1_000_000

/** A document in JSON, or what is wrong with the line. */
export const parseLine = (text: string): Result.Result<Document, string> => {
  if (text.length > maxLineCharacters) return Result.fail(`longer than ${maxLineCharacters} characters`)
  return Result.mapError(decode(text), ({ issue }) => {
    const first = issues(issue).issues[0]
    return [first?.path?.join("."), first?.message].filter(Boolean).join(" ")
  })
}
