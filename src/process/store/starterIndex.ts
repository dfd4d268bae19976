import { fileURLToPath } from "node:url"
import { Effect, FileSystem, Stream } from "effect"
import * as DocumentFile from "../../layers/index/DocumentFile.ts"
import { type Document, DocumentIndex } from "../../services/index/DocumentIndex.ts"
import { unfinishedMarkerIn } from "../../services/index/starterDocuments.ts"
import { Readiness } from "../../services/operations/Readiness.ts"

const file = fileURLToPath(new URL("../../../data/starter-index.jsonl.gz", import.meta.url))

/** An earlier version loaded this many before the first search, and the others in the background. */
const firstDocuments = 1_000

/** The rest is loaded in small batches with pauses, because a batch blocks searches. */
const partDocuments = 500
const pause = "50 millis"

const options = { target: undefined, replace: false } as const

/** Loads the starter documents into an empty index. */
export const fill = Effect.gen(function* () {
  const index = yield* DocumentIndex
  const files = yield* FileSystem.FileSystem
  if ((yield* index.stats).documents > 0 || !(yield* files.exists(file))) return
  yield* index.load(DocumentFile.read(file), options)
})

/** The marker remains if the process ends before all documents are loaded. */
export const fillIn = Effect.fnUntraced(function* (dataDir: string) {
  const files = yield* FileSystem.FileSystem
  const marker = yield* unfinishedMarkerIn(dataDir)
  yield* files.writeFileString(marker, "")
  yield* fill
  yield* files.remove(marker)
})

const reportedDocuments = 5_000

const workName = "starter_documents"

export const fillRest = Effect.gen(function* () {
  const index = yield* DocumentIndex
  const readiness = yield* Readiness
  const loadPart = Effect.fnUntraced(function* (documents: ReadonlyArray<Document>, done: number) {
    yield* readiness.setBackground(workName, { done })
    yield* index.load(Stream.fromIterable(documents), options)
    const now = done + documents.length
    if (Math.floor(now / reportedDocuments) > Math.floor(done / reportedDocuments)) {
      yield* Effect.logInfo(`Loading the starter documents: ${now} so far.`)
    }
    yield* Effect.sleep(pause)
    return now
  })
  yield* Effect.logInfo("Loading the other starter documents in the background. Searches already find the first ones.")
  yield* DocumentFile.read(file).pipe(
    Stream.drop(firstDocuments),
    Stream.grouped(partDocuments),
    Stream.runFoldEffect(
      () => firstDocuments,
      (done, documents) => loadPart(documents, done)
    ),
    Effect.ensuring(readiness.setBackground(workName, undefined))
  )
  const { documents } = yield* index.stats
  yield* Effect.logInfo(`Loaded the starter documents. The index has ${documents} documents.`)
})

/** Does nothing without the marker file, or if the operator has cleared the index since. */
export const fillRestIn = Effect.fnUntraced(function* (dataDir: string) {
  const files = yield* FileSystem.FileSystem
  const marker = yield* unfinishedMarkerIn(dataDir)
  if (!(yield* files.exists(marker))) return
  const index = yield* DocumentIndex
  if ((yield* index.stats).documents > 0) yield* index.whileLoading(fillRest)
  yield* files.remove(marker)
})
