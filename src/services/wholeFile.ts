import { Effect, FileSystem, Path } from "effect"

const sync = (path: string, flag: FileSystem.OpenFlag) =>
  Effect.scoped(
    Effect.flatMap(FileSystem.FileSystem, (files) => Effect.flatMap(files.open(path, { flag }), (file) => file.sync))
  )

/** Waits until the disk has the file's content. Windows syncs only files that are open for writing. */
export const syncFile = (path: string) => sync(path, "r+")

/** Waits until the disk has the directory's entries. Windows cannot, and NTFS writes them in order by itself. */
export const syncDirectory = (path: string) =>
  Effect.flatMap(Path.Path, ({ sep }) => (sep === "\\" ? Effect.void : sync(path, "r")))

/** Renames a finished draft. After a power cut at any moment, `file` has its former content or all of the draft's. */
export const renameWhole = Effect.fnUntraced(function* (draft: string, file: string) {
  const files = yield* FileSystem.FileSystem
  const { dirname } = yield* Path.Path
  yield* syncFile(draft)
  yield* files.rename(draft, file)
  yield* syncDirectory(dirname(file))
})
