import { readFileSync } from "node:fs"
import { Schema } from "effect"

export const kinds = ["name", "topic", "question", "error", "misspelt", "operator", "none"] as const
export type Kind = (typeof kinds)[number]

/** A query and the addresses that answer it, each with its grade from 1 to 3. README.md has their meaning. */
export const Judgement = Schema.Struct({
  kind: Schema.Literals(kinds),
  query: Schema.String,
  relevant: Schema.Record(Schema.String, Schema.Literals([1, 2, 3]))
})
export type Judgement = typeof Judgement.Type

export const sets = ["queries", "heldout"] as const
export type JudgedSet = (typeof sets)[number]

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Judgement))

/** The judgements of one file. Throws on a line that is none. */
export const readJudgements = (set: JudgedSet): ReadonlyArray<Judgement> =>
  readFileSync(new URL(`${set}.jsonl`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => decode(line))
