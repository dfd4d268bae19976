import { renameSync, rmSync, statfsSync } from "node:fs"
import { join } from "node:path"
import { Cause, Effect, Exit, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { rootCauseMessage } from "../../../domain/rootCause.ts"
import * as Migrations from "../Migrations.ts"
import { isMade, lockDirectory, StorageUnavailable, unusableDirectory } from "./DirectoryLock.ts"
import * as Pglite from "./Pglite.ts"
import { syncDirectory, syncTree } from "./SyncedFiles.ts"
import type { Template } from "./templates.ts"

/** In the same directory as the database, so that it can be renamed. */
const draftName = "unfinished"

const neededMegabytes = 100

export interface NewStoreOptions {
  readonly dataDir: string
  readonly sync: boolean
  readonly template?: Template
}

/** Renames the database once it is complete. After a kill or a power cut, the next start begins again. */
export const make = <E, R>(
  { dataDir, sync, template = "empty" }: NewStoreOptions,
  fill: Effect.Effect<void, E, R | SqlClient.SqlClient>
): Effect.Effect<void, StorageUnavailable, Exclude<R, SqlClient.SqlClient>> => {
  const draft = join(dataDir, draftName)
  const remove = Effect.try({
    try: () => rmSync(draft, { recursive: true, force: true }),
    catch: (error) => unusableDirectory(dataDir, error)
  })
  const database = Layer.provideMerge(Migrations.layer, Pglite.layer({ dataDir: draft, sync: false, template }))
  const whole = Effect.gen(function* () {
    // Another process may have created it before this one obtained the lock.
    if (isMade(dataDir)) return
    yield* remove
    const made = yield* Effect.exit(Effect.provide(fill, database))
    if (Exit.isFailure(made)) return yield* failure(dataDir, made.cause)
    // Syncing everything once is faster than syncing each commit of a database that nothing depends on yet.
    yield* Effect.tryPromise({
      try: async () => {
        const made = join(draft, "postgres")
        if (sync) await syncTree(draft)
        renameSync(made, join(dataDir, "postgres"))
        if (sync) syncDirectory(dataDir)
      },
      catch: (error) => unusableDirectory(dataDir, error)
    })
  })
  return Effect.andThen(lockDirectory(dataDir), Effect.ensuring(whole, Effect.ignore(remove))).pipe(Effect.scoped)
}

/** Adds the free space, because the database reports most disk errors as an abort without a reason. */
const failure = (dataDir: string, cause: Cause.Cause<unknown>): Effect.Effect<never, StorageUnavailable> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
  const { bavail, bsize } = statfsSync(dataDir)
  const freeMegabytes = Math.floor((bavail * bsize) / 2 ** 20)
  const reason =
    freeMegabytes < neededMegabytes
      ? `its disk has ${freeMegabytes} MB free, and it takes ${neededMegabytes} MB`
      : rootCauseMessage(Cause.squash(cause))
  return Effect.fail(
    new StorageUnavailable({
      message:
        `The database in ${dataDir} could not be created: ${reason}. ` +
        "Free space there or set DATA_DIR to another directory, then start again."
    })
  )
}
