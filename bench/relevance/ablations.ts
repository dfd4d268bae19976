// Compares the ranking with and without each of its rules. A child process removes the rule while loading the source.
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { registerHooks, stripTypeScriptTypes } from "node:module"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Stream } from "effect"
import * as DocumentFile from "../../src/layers/index/DocumentFile.ts"
import type { CollectionScores } from "./collections.ts"
import { readCollection } from "./Judgement.ts"

/** A rule of the ranking, and the edits that remove it from the source. */
interface Rule {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
}

const rules: ReadonlyArray<Rule> = [
  {
    name: "stop words weigh nothing",
    file: "index/QueryTerms.ts",
    from: "const words = telling.length === 0 ? all : telling",
    to: "const words = all"
  },
  {
    name: "stems",
    file: "index/languages.ts",
    from: "const stemmed = /^\\p{L}{3,}$/u",
    to: "const stemmed = /^$/"
  },
  {
    name: "a repeated word counts each time",
    file: "index/QueryTerms.ts",
    from: "times: before.times + times",
    to: "times: before.times"
  },
  {
    name: "a passage has no operators",
    file: "index/QueryTerms.ts",
    from: "const maxWordsOfOperators = 8",
    to: "const maxWordsOfOperators = 1000"
  },
  {
    name: "weights of fields",
    file: "index/DocumentTerms.ts",
    from: "const fieldWeights = { title: 4, headings: 2,",
    to: "const fieldWeights = { title: 1, headings: 1,"
  },
  {
    name: "titles without the site's name",
    file: "index/titles.ts",
    from: "const headOf = (title: string): string => {",
    to: "const headOf = (title: string): string => { return title"
  },
  {
    name: "a description once that begins the content",
    file: "index/DocumentTerms.ts",
    from: 'description !== "" && content.startsWith',
    to: "false && content.startsWith"
  },
  {
    name: "a short query asks for all of its words",
    file: "index/score.ts",
    from: "const demandedWords = 2",
    to: "const demandedWords = 0"
  },
  {
    name: "names written together",
    file: "index/QueryTerms.ts",
    from: "for (const compound of compounds) slots",
    to: "for (const compound of []) slots"
  },
  {
    name: "neighbours written together",
    file: "index/QueryTerms.ts",
    from: "for (const joined of neighbours(words))",
    to: "for (const joined of neighbours([]))"
  },
  {
    name: "names in camelCase that are one word",
    file: "index/words.ts",
    from: "if (indivisible.has(lower) ||",
    to: "if ("
  },
  {
    name: "short and long forms of words",
    file: "index/QueryTerms.ts",
    from: "synonyms.get(part)",
    to: "undefined"
  },
  {
    name: "titles that are the query's name",
    file: "index/titles.ts",
    from: "const nameShare = 1.2",
    to: "const nameShare = 0"
  },
  {
    name: "titles like the query",
    file: "index/titles.ts",
    from: "const titleShare = 0.5",
    to: "const titleShare = 0"
  },
  {
    name: "neighbours in the title",
    file: "index/titles.ts",
    from: "const nearness = 0.25",
    to: "const nearness = 0"
  },
  { name: "other spellings", file: "DocumentIndexSql.ts", from: "const maxMisspelt = 3", to: "const maxMisspelt = 0" }
]

const program = fileURLToPath(import.meta.url)
const starterIndex = fileURLToPath(new URL("../../data/starter-index.jsonl.gz", import.meta.url))

/** Removes a rule from modules that are loaded from now on. Returns a check that fails if none of them had the rule. */
const leaveOut = ({ file, from, to }: Rule): (() => void) => {
  let isLoaded = false
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (!url.endsWith(file)) return loaded
      const source = readFileSync(fileURLToPath(url), "utf8")
      if (!source.includes(from)) throw new Error(`${file} has no "${from}"`)
      isLoaded = true
      return { ...loaded, format: "module", source: stripTypeScriptTypes(source.replace(from, to)) }
    }
  })
  return () => {
    if (!isLoaded) throw new Error(`${file} was not loaded, so the rule is still in effect. Has the file moved?`)
  }
}

type Scores = Readonly<Record<string, CollectionScores>>

/** The scores of our own sets and of the collections, computed in this process. */
const scoresHere = (folders: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { ownCollections, scoreCollection } = yield* Effect.promise(() => import("./collections.ts"))
    const { embedded } = yield* Effect.promise(() => import("./engines.ts"))
    const documents = yield* Stream.runCollect(DocumentFile.read(starterIndex))
    const scores: Record<string, CollectionScores> = {}
    for (const collection of [...ownCollections(documents), ...folders.map(readCollection)]) {
      scores[collection.name] = yield* scoreCollection(collection, embedded)
    }
    return scores
  }).pipe(Effect.provide(NodeServices.layer))

const scoresWithout = async (rule: Rule | undefined, folders: ReadonlyArray<string>): Promise<Scores> => {
  const { stdout } = await promisify(execFile)(process.execPath, [program, rule?.name ?? "", ...folders])
  // The child runs this program and prints only the scores.
  return JSON.parse(stdout) as Scores
}

const row = (name: string, scores: Scores, before: Scores): string => {
  const cells = Object.entries(scores).map(([set, { mrr, ndcg }]) => {
    const change = (now: number, then = now) =>
      now === then ? "" : ` (${now > then ? "+" : "−"}${Math.abs(now - then).toFixed(3)})`
    return `${ndcg.toFixed(3)}${change(ndcg, before[set]?.ndcg)} | ${mrr.toFixed(3)}${change(mrr, before[set]?.mrr)}`
  })
  return `| ${name} | ${cells.join(" | ")} |`
}

/** Prints a table of the scores with all rules, and without each rule. */
export const printAblations = (folders: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const whole = await scoresWithout(undefined, folders)
    const names = Object.keys(whole)
    console.log(`| without | ${names.map((name) => `${name}: nDCG@10 | MRR`).join(" | ")} |`)
    console.log(`| --- |${" ---: | ---: |".repeat(names.length)}`)
    console.log(row("nothing", whole, whole))
    for (const rule of rules) console.log(row(rule.name, await scoresWithout(rule, folders), whole))
  })

if (process.argv[1] === program) {
  const [, , name, ...folders] = process.argv
  const rule = rules.find((each) => each.name === name)
  const checkLeftOut = rule === undefined ? undefined : leaveOut(rule)
  const scores = await Effect.runPromise(scoresHere(folders))
  checkLeftOut?.()
  console.log(JSON.stringify(scores))
}
