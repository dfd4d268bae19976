import { readFileSync } from "node:fs"
import { basename } from "node:path"
import { gunzipSync } from "node:zlib"
import { Schema } from "effect"
import { Document } from "../../src/services/index/DocumentIndex.ts"

export const kinds = ["name", "topic", "question", "error", "misspelt", "operator", "none"] as const
export type Kind = (typeof kinds)[number]

/** A query and the addresses that answer it, each with its grade from 1 to 3. README.md has their meaning. */
export const Judgement = Schema.Struct({
  kind: Schema.Literals(kinds),
  query: Schema.String,
  relevant: Schema.Record(Schema.String, Schema.Finite)
})
export type Judgement = typeof Judgement.Type

export const sets = ["queries", "heldout"] as const
export type JudgedSet = (typeof sets)[number]

const linesOf = (path: string | URL): ReadonlyArray<string> => {
  const bytes = readFileSync(path)
  const text = String(path).endsWith(".gz") ? gunzipSync(bytes) : bytes
  return text
    .toString()
    .split("\n")
    .filter((line) => line !== "")
}

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Judgement))

/** The judgements of one file. Throws on a line that is none. */
export const readJudgements = (set: JudgedSet): ReadonlyArray<Judgement> =>
  linesOf(new URL(`${set}.jsonl`, import.meta.url)).map((line) => decode(line))

/** A query of a collection. Documents are named by the last part of their address. */
const JudgedQuery = Schema.Struct({
  id: Schema.Unknown,
  text: Schema.String,
  judged: Schema.Record(Schema.String, Schema.Finite),
  /** The locale of the search, `en-us` by default. */
  locale: Schema.optionalKey(Schema.String)
})
const decodeQuery = Schema.decodeUnknownSync(Schema.fromJsonString(JudgedQuery))
const decodeDocument = Schema.decodeUnknownSync(Schema.fromJsonString(Document))

/** Documents with judged queries. */
export interface Collection {
  readonly name: string
  readonly documents: ReadonlyArray<Document>
  readonly queries: ReadonlyArray<{
    readonly query: string
    readonly locale: string | undefined
    readonly relevant: Readonly<Record<string, number>>
  }>
}

/** The longest query that the API takes. */
const maxQueryCodePoints = 400

/** Reads `documents.jsonl.gz` and `queries.jsonl` of a folder. Throws on a line that is none. */
export const readCollection = (folder: string): Collection => {
  const documents = linesOf(`${folder}/documents.jsonl.gz`).map((line) => decodeDocument(line))
  const urls = new Map(documents.map(({ url }) => [url.slice(url.lastIndexOf("/") + 1), url]))
  const queries = linesOf(`${folder}/queries.jsonl`)
    .map((line) => decodeQuery(line))
    .map(({ judged, locale, text }) => ({
      query: Array.from(text).slice(0, maxQueryCodePoints).join(""),
      locale,
      relevant: Object.fromEntries(Object.entries(judged).map(([name, gain]) => [urls.get(name) ?? name, gain]))
    }))
  return { name: basename(folder), documents, queries }
}
