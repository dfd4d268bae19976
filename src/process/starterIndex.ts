import { fileURLToPath } from "node:url"
import { Effect, FileSystem } from "effect"
import * as DocumentFile from "../layers/DocumentFile.ts"
import { DocumentIndex } from "../services/DocumentIndex.ts"

const file = fileURLToPath(new URL("../../data/starter-index.jsonl.gz", import.meta.url))

/** Loads the starter documents into an empty index, so that the first search of a new store finds something. */
export const fillIndex = Effect.gen(function* () {
  const index = yield* DocumentIndex
  const files = yield* FileSystem.FileSystem
  if ((yield* index.stats).documents > 0 || !(yield* files.exists(file))) return
  yield* index.load(DocumentFile.read(file), { target: undefined, replace: false })
})
