import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { command } from "../processes/Command.ts"
import { temporaryDirectory } from "../processes/Spawned.ts"
import * as Template from "./Template.ts"

/** If undefined, the store generates its own at the first start. Secrets given here cannot be changed later (R56). */
type Secrets = Readonly<Record<"KEY_PEPPER" | "AUTH_SECRET", string>>

const documents = Array.from({ length: 12 }, (_, index) => ({
  url: `https://site${index + 1}.example.com/http-caching`,
  title: `HTTP caching, part ${index + 1}`,
  description: "How answers of HTTP are cached, and when a cache asks again."
}))

/** Creates a store with the documents, using the operator's command. */
const make = (secrets: Secrets | undefined) =>
  Effect.fnUntraced(function* (DATA_DIR: string) {
    const file = join(yield* temporaryDirectory, "documents.jsonl")
    yield* Effect.promise(() => writeFile(file, documents.map((document) => JSON.stringify(document)).join("\n")))
    for (const args of [["migrate"], ["index", "load", file]]) {
      const { code, stderr } = yield* command({ DATA_DIR, ...secrets }, ...args)
      if (code !== 0) yield* Effect.die(new Error(`the template of the embedded store was not made: ${stderr}`))
    }
  })

/**
 * A data directory whose index already has a few documents, so that the first start need not load the thousands of the
 * starter index. It still creates the developer's account and prints its key. Removed with the scope.
 */
export const directoryWith = (secrets: Secrets | undefined) => Template.copyOf({ documents, secrets }, make(secrets))

export const directory = directoryWith(undefined)
