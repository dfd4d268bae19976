import { Effect, FileSystem, Path } from "effect"

/** Exists until all starter documents are loaded, so that a later start can load the rest. */
export const unfinishedMarkerIn = (dataDir: string) =>
  Effect.map(Path.Path, ({ join }) => join(dataDir, "starter-index.unfinished"))

/** Has the digest of the starter documents that the store has loaded, so that a later start loads changed ones. */
export const loadedDigestIn = (dataDir: string) =>
  Effect.map(Path.Path, ({ join }) => join(dataDir, "starter-index.sha256"))

/** True while the starter documents of an embedded store are loaded only in part. */
export const isUnfinishedIn = Effect.fnUntraced(function* (dataDir: string) {
  const files = yield* FileSystem.FileSystem
  return yield* files.exists(yield* unfinishedMarkerIn(dataDir))
})
