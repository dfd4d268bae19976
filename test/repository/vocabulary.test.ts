import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const root = new URL("../../", import.meta.url)

const sourcesOf = (folder: string): ReadonlyArray<string> =>
  readdirSync(fileURLToPath(new URL(folder, root)), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(?:ts|sql)$/.test(path))
    .map((path) => `${folder}${path}`)

/** A line that is a comment as a whole; comments behind code are rare here. */
const isComment = (line: string): boolean => /^\s*(?:\/\*\*|\*|\/\/|--)/.test(line)

/** A line of code without its texts: a message may say what an identifier may not. */
const identifiersOf = (line: string): string =>
  isComment(line) ? "" : line.replaceAll(/"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g, "")

/** The field of a log entry that has the refusals of its providers, and the type of its values. */
const loggedRefusals = /\b(?:refusals|LoggedRefusal|refusalReasons)\b/g

interface Rule {
  readonly name: string
  readonly folders: ReadonlyArray<string>
  readonly except?: RegExp
  readonly breaks: (line: string) => boolean
}

/** The part of docs/internals/glossary.md that a program can check. */
const rules: ReadonlyArray<Rule> = [
  {
    name: "a comment opens with a noun or a verb, and not with a question word",
    folders: ["src/"],
    breaks: (line) => /^\s*(?:\/\*\*|\/\/)\s+(?:What|Whether|Where|How|Who|Why|When)\b/.test(line)
  },
  {
    name: "no comment uses the words that the glossary leaves out",
    folders: ["src/", "bench/"],
    breaks: (line) => isComment(line) && /\b(?:told|tells? of|what came of|stands? where|out of breath)\b/i.test(line)
  },
  {
    name: "a refusal is a provider's, and no other identifier is named so",
    folders: ["src/"],
    except:
      /^src\/(?:[a-z]+\/providers\/|[a-z]+\/(?:sql\/)?operations\/(?:views\/engineJson|Replicas|Heartbeat|Overview|Status|status)|cli\/search\/logEntries\.ts|http\/admin\/providers\.ts)/,
    breaks: (line) => /refus/i.test(identifiersOf(line).replaceAll(loggedRefusals, ""))
  }
]

const breachesOf = ({ breaks, except, folders }: Rule): ReadonlyArray<string> =>
  folders
    .flatMap(sourcesOf)
    .filter((path) => except?.test(path) !== true)
    .flatMap((path) =>
      readFileSync(new URL(path, root), "utf8")
        .split("\n")
        .flatMap((line, index) => (breaks(line) ? [`${path}:${index + 1} ${line.trim()}`] : []))
    )

describe("the words of the glossary", () => {
  for (const rule of rules) {
    it(rule.name, () => assert.deepStrictEqual(breachesOf(rule), []))
  }
})
