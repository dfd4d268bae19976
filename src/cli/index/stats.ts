import { Effect } from "effect"
import { Command } from "effect/cli"
import { DocumentIndex } from "../../services/index/DocumentIndex.ts"
import { isUnfinishedIn } from "../../services/index/starterDocuments.ts"
import { AppConfig } from "../../settings/Settings.ts"
import { print, table } from "../Output.ts"

export const stats = Command.make(
  "stats",
  {},
  Effect.fn(function* () {
    const { databaseUrl, dataDir } = yield* AppConfig
    const { byTarget, documents } = yield* Effect.flatMap(DocumentIndex, (index) => index.stats)
    const unfinished = databaseUrl === undefined && (yield* isUnfinishedIn(dataDir))
    const counts = [["Documents", `${documents}`], ...Object.entries(byTarget).map(([target, n]) => [target, `${n}`])]
    yield* print({ documents, by_target: byTarget, ...(unfinished ? { starter_documents: "unfinished" } : {}) }, [
      ...table(counts),
      ...(unfinished ? ["Only some of the starter documents are loaded. The next start loads the rest."] : [])
    ])
  })
).pipe(Command.withDescription("Count the documents, and say whether starter documents are still missing"))
