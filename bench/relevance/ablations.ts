// Compares the ranking with itself without each of its rules. A rule is taken out of the source as it is loaded, in a
// process of its own.
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

/** A rule, its file in `src`, and the text to replace in order to remove the rule. */
interface Rule {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
}

export const rules: ReadonlyArray<Rule> = [
  {
    name: "stop words weigh nothing",
    file: "domain/index/QueryTerms.ts",
    from: "const words = telling.length === 0 ? all : telling",
    to: "const words = all"
  },
  {
    name: "stems",
    file: "domain/index/languages.ts",
    from: "const stemmed = /^\\p{L}{3,}$/u",
    to: "const stemmed = /^$/"
  },
  {
    name: "a repeated word counts each time",
    file: "domain/index/QueryTerms.ts",
    from: "times: before.times + times",
    to: "times: before.times"
  },
  {
    name: "a passage has no operators",
    file: "domain/index/QueryTerms.ts",
    from: "const maxWordsOfOperators = 8",
    to: "const maxWordsOfOperators = 1000"
  },
  {
    name: "weights of fields",
    file: "domain/index/DocumentTerms.ts",
    from: "const fieldWeights = { title: 4, headings: 2,",
    to: "const fieldWeights = { title: 1, headings: 1,"
  },
  {
    name: "titles without the site's name",
    file: "domain/index/titles.ts",
    from: "const headOf = (title: string): string => {",
    to: "const headOf = (title: string): string => { return title"
  },
  {
    name: "a description once that begins the content",
    file: "domain/index/DocumentTerms.ts",
    from: 'description !== "" && content.startsWith',
    to: "false && content.startsWith"
  },
  {
    name: "a short query asks for all of its words",
    file: "domain/index/score.ts",
    from: "const demandedWords = 2",
    to: "const demandedWords = 0"
  },
  {
    name: "names written together",
    file: "domain/index/QueryTerms.ts",
    from: "for (const compound of compounds) slots",
    to: "for (const compound of []) slots"
  },
  {
    name: "neighbors written together",
    file: "domain/index/QueryTerms.ts",
    from: "for (const joined of neighbors(words))",
    to: "for (const joined of neighbors([]))"
  },
  {
    name: "names in camelCase that are one word",
    file: "domain/index/words.ts",
    from: "if (indivisible.has(lower) ||",
    to: "if ("
  },
  {
    name: "short and long forms of words",
    file: "domain/index/QueryTerms.ts",
    from: "synonyms.get(part)",
    to: "undefined"
  },
  {
    name: "titles like the query",
    file: "domain/index/titles.ts",
    from: "const titleShare = 0.5",
    to: "const titleShare = 0"
  },
  {
    name: "other spellings",
    file: "layers/sql/index/DocumentIndexSql.ts",
    from: "const maxMisspelt = 3",
    to: "const maxMisspelt = 0"
  }
]

const program = fileURLToPath(import.meta.url)
const starterIndex = fileURLToPath(new URL("../../data/starter-index.jsonl.gz", import.meta.url))

/** Takes a rule out of the modules that are loaded from now on. */
const leaveOut = ({ file, from, to }: Rule): void => {
  const changed = new URL(`../../src/${file}`, import.meta.url).href
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (url !== changed) return loaded
      const source = readFileSync(fileURLToPath(url), "utf8")
      return { ...loaded, format: "module", source: stripTypeScriptTypes(source.replace(from, to)) }
    }
  })
}

type Scores = Readonly<Record<string, CollectionScores>>

/** The scores of the own sets and of the collections, in this process. */
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
  // The child is this program, which prints the scores alone.
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

/** Prints a table of the scores with all rules and without each. */
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
  if (rule !== undefined) leaveOut(rule)
  console.log(JSON.stringify(await Effect.runPromise(scoresHere(folders))))
}
