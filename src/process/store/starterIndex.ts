import { createHash } from "node:crypto"
import { fileURLToPath } from "node:url"
import { Effect, FileSystem, Stream } from "effect"
import * as DocumentFile from "../../layers/index/DocumentFile.ts"
import { type Document, DocumentIndex } from "../../services/index/DocumentIndex.ts"
import { loadedDigestIn, unfinishedMarkerIn } from "../../services/index/starterDocuments.ts"
import { Readiness } from "../../services/operations/Readiness.ts"
import { renameWhole } from "../../services/wholeFile.ts"

const file = fileURLToPath(new URL("../../../data/starter-index.jsonl.gz", import.meta.url))

/** An earlier version loaded this many before the first search, and the others in the background. */
const firstDocuments = 1_000

/** The rest is loaded in small batches with pauses, because a batch blocks searches. */
const partDocuments = 500
const pause = "50 millis"

const options = { target: undefined, replace: false } as const

const load = Effect.flatMap(DocumentIndex, (index) => index.load(DocumentFile.read(file), options))

const isEmpty = Effect.flatMap(DocumentIndex, (index) => Effect.map(index.stats, ({ documents }) => documents === 0))

/** Loads the starter documents into an empty index. */
export const fill = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  if ((yield* isEmpty) && (yield* files.exists(file))) yield* load
})

const writeWhole = Effect.fnUntraced(function* (path: string, text: string) {
  const files = yield* FileSystem.FileSystem
  yield* files.writeFileString(`${path}.new`, text)
  yield* renameWhole(`${path}.new`, path)
})

const digest = Effect.map(
  Effect.flatMap(FileSystem.FileSystem, (files) => files.readFile(file)),
  (bytes) => createHash("sha256").update(bytes).digest("hex")
)

/** The marker remains if the process or the machine ends before all documents are loaded. */
export const fillIn = Effect.fnUntraced(function* (dataDir: string) {
  const files = yield* FileSystem.FileSystem
  const marker = yield* unfinishedMarkerIn(dataDir)
  if (!(yield* files.exists(file))) return
  if (yield* isEmpty) {
    yield* writeWhole(marker, "")
    yield* load
    yield* files.remove(marker)
  }
  if (!(yield* files.exists(marker))) yield* writeWhole(yield* loadedDigestIn(dataDir), yield* digest)
})

const reportedDocuments = 5_000

const workName = "starter_documents"

/** Loads the documents after the first `skipped`. Unchanged ones are not written again. */
export const fillRest = Effect.fnUntraced(function* (skipped: number) {
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
  yield* Effect.logInfo(
    "Loading the missing and changed starter documents in the background. Searches already find the others."
  )
  yield* DocumentFile.read(file).pipe(
    Stream.drop(skipped),
    Stream.grouped(partDocuments),
    Stream.runFoldEffect(
      () => skipped,
      (done, documents) => loadPart(documents, done)
    ),
    Effect.ensuring(readiness.setBackground(workName, undefined))
  )
  const { documents } = yield* index.stats
  yield* Effect.logInfo(`Loaded the starter documents. The index has ${documents} documents.`)
})

/** False once the operator has replaced or cleared the starter documents. A crawl may have added some of their pages. */
const hasStarterDocuments = Effect.gen(function* () {
  const index = yield* DocumentIndex
  const first = yield* Stream.runCollect(Stream.take(DocumentFile.read(file), firstDocuments))
  return (yield* index.count(first.map(({ url }) => url))) > first.length / 2
})

/** Loads the documents that an interrupted first start left out, or that are new in this version of Quarry. */
export const fillRestIn = Effect.fnUntraced(function* (dataDir: string) {
  const files = yield* FileSystem.FileSystem
  const marker = yield* unfinishedMarkerIn(dataDir)
  const loaded = yield* loadedDigestIn(dataDir)
  if (!(yield* files.exists(file))) return
  const isUnfinished = yield* files.exists(marker)
  const current = yield* digest
  if (!isUnfinished && (yield* files.exists(loaded)) && (yield* files.readFileString(loaded)) === current) return
  const index = yield* DocumentIndex
  if (yield* hasStarterDocuments) yield* index.whileLoading(fillRest(isUnfinished ? firstDocuments : 0))
  yield* writeWhole(loaded, current)
  yield* files.remove(marker, { force: true })
})
