import { Console, Deferred, Effect, FileSystem, Option, Stdio, Stream } from "effect"
import { Argument, Command } from "effect/cli"
import { rootCauseMessage } from "../../domain/rootCause.ts"
import { type BackupReport, Backups } from "../../services/operations/Backups.ts"
import { renameWhole } from "../../services/wholeFile.ts"
import { writesMore, writesNothing } from "../effects.ts"
import { toggle } from "../flags.ts"
import { CommandFailed, Json, notePrinted, print } from "../Output.ts"

const path = (description: string) =>
  Argument.String("file").pipe(Argument.withDescription(description), Argument.optional)

const toJson = ({ rows, tables, takenAt }: BackupReport) => ({ taken_at: takenAt, tables, rows })

const sentence = ({ rows, tables, takenAt }: BackupReport): string =>
  `${rows.toLocaleString("en")} rows of ${tables} tables, as of ${takenAt}`

const unwritable = (error: unknown) =>
  new CommandFailed({ message: `The backup could not be written and is incomplete: ${rootCauseMessage(error)}.` })

const takeBy = Effect.fnUntraced(function* <A, E, R>(
  write: (bytes: ReturnType<Backups["Service"]["take"]>) => Effect.Effect<A, E, R>
) {
  const backups = yield* Backups
  const reported = yield* Deferred.make<BackupReport>()
  yield* write(backups.take((report) => Deferred.succeed(reported, report)))
  // A reader that stops early, such as `head`, ends the stream without an error.
  if (yield* Deferred.isDone(reported)) return yield* Deferred.await(reported)
  return yield* new CommandFailed({ message: "The backup is incomplete: the reader of stdout closed it early." })
})

/** Writes under a temporary name, so that an interrupted backup is never mistaken for a complete one. */
export const takeInto = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  if (yield* files.exists(file)) {
    return yield* new CommandFailed({
      message: `${file} already exists, and backups never overwrite a file. Choose another name.`
    })
  }
  const unfinished = `${file}.unfinished`
  const report = yield* takeBy((bytes) => Stream.run(bytes, files.sink(unfinished, { flag: "w", mode: 0o600 }))).pipe(
    Effect.catchTag("PlatformError", unwritable)
  )
  yield* renameWhole(unfinished, file)
  yield* print({ file, ...toJson(report) }, [`Backup written to ${file}: ${sentence(report)}.`])
})

const takeToStdout = Effect.gen(function* () {
  const stdio = yield* Stdio.Stdio
  if (yield* stdio.stdoutIsTerminal) {
    return yield* new CommandFailed({
      message: "A backup cannot be printed to a terminal. Name a file or redirect stdout."
    })
  }
  // Without this, a failure would print its JSON object after the backup.
  yield* notePrinted
  const report = yield* takeBy((bytes) => Stream.run(bytes, stdio.stdout({ endOnDone: false }))).pipe(
    Effect.catchTag("PlatformError", unwritable)
  )
  yield* Console.error((yield* Json) ? JSON.stringify(toJson(report)) : `Backup complete: ${sentence(report)}.`)
})

export const backup = Command.make(
  "backup",
  { file: path("The file to write, which must not exist (default: stdout)") },
  Effect.fn(function* ({ file }) {
    yield* Option.match(file, { onNone: () => takeToStdout, onSome: takeInto })
  })
).pipe(writesNothing, Command.withDescription("Write a consistent backup of all data"))

export const restore = Command.make(
  "restore",
  {
    file: path("The backup to read (default: stdin)"),
    check: toggle("check", "Verify the checksums of the backup without restoring it"),
    overwrite: toggle("overwrite", "Replace all existing data. Without this flag, restore requires an empty store")
  },
  Effect.fn(function* ({ check, file, overwrite }) {
    const stdio = yield* Stdio.Stdio
    const files = yield* FileSystem.FileSystem
    const backups = yield* Backups
    if (Option.isNone(file) && (yield* stdio.stdinIsTerminal)) {
      return yield* new CommandFailed({ message: "No backup was given. Name a file or redirect one to stdin." })
    }
    const bytes = Option.match(file, { onNone: () => stdio.stdin, onSome: (path) => files.stream(path) })
    const report = yield* check ? backups.check(bytes) : backups.restore(bytes, { overwrite })
    const done = check ? "Backup complete" : "Restored and verified"
    yield* print({ restored: !check, ...toJson(report) }, [`${done}: ${sentence(report)}.`])
  })
).pipe(writesMore, Command.withDescription("Restore a backup into an empty store and verify it"))
