import { Console, Effect, FileSystem, type Layer, Option, Path, Ref, Result, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { baseOf } from "../domain/pageAddress.ts"
import { type Target, targets } from "../domain/Target.ts"
import * as DocumentFile from "../layers/DocumentFile.ts"
import { type DocumentProblem, type DocumentSource, explainProblem } from "../layers/DocumentSource.ts"
import * as LocalPages from "../layers/LocalPages.ts"
import type { Audit } from "../services/Audit.ts"
import { DocumentIndex } from "../services/DocumentIndex.ts"
import type { AppConfig } from "../settings/Settings.ts"
import { audited, recordFirst } from "./audited.ts"
import { withProgress } from "./loadProgress.ts"
import { CommandFailed, Json, print, table } from "./Output.ts"

/** Problems that are listed: a file of another kind has one on each line. */
const maxProblems = { inJson: 100, onTerminal: 20 }

/** The documents that a load has read so far, and those of them that are none. */
interface Tally {
  readonly read: number
  readonly failed: number
  readonly problems: ReadonlyArray<DocumentProblem>
}

const addTo = (tally: Tally, document: Result.Result<unknown, DocumentProblem>): Tally =>
  Result.isSuccess(document)
    ? { ...tally, read: tally.read + 1 }
    : {
        read: tally.read + 1,
        failed: tally.failed + 1,
        problems: tally.problems.length < maxProblems.inJson ? [...tally.problems, document.failure] : tally.problems
      }

const nothing: Tally = { read: 0, failed: 0, problems: [] }

/** The documents that are whole. The others are noted in the tally. */
const wholeDocuments = (what: string, source: DocumentSource, tally: Ref.Ref<Tally>) =>
  source.documents.pipe(
    withProgress(what, source.share),
    Stream.tap((document) => Ref.update(tally, (all) => addTo(all, document))),
    Stream.filterMap((document) => document)
  )

/** Loads the whole documents. Removes what has vanished only if all of the source is whole: a broken page has not vanished. */
const loadFrom = Effect.fnUntraced(function* (source: DocumentSource, target: Target | undefined, replace: boolean) {
  const index = yield* DocumentIndex
  const check = yield* Ref.make(nothing)
  if (replace) yield* Stream.runDrain(wholeDocuments("Checked", source, check))
  const { failed, read } = yield* Ref.get(check)
  if (replace && read === 0) {
    return yield* new CommandFailed({
      message: "The source has no documents. Nothing was removed: index clear removes all that are loaded."
    })
  }
  const isWhole = failed === 0
  const tally = yield* Ref.make(nothing)
  const { removed, written } = yield* index
    .load(wholeDocuments("Loaded", source, tally), { target, replace: replace && isWhole })
    .pipe(
      Effect.onInterrupt(() =>
        Effect.flatMap(Ref.get(tally), ({ read }) =>
          Console.error(`Stopped after reading ${read} documents. Run the same command again to load the rest.`)
        )
      )
    )
  return { ...(yield* Ref.get(tally)), written, removed, isKept: replace && !isWhole }
})

type LoadOutcome = Effect.Success<ReturnType<typeof loadFrom>>

const count = (documents: number): string => `${documents} document${documents === 1 ? "" : "s"}`

/** Prints what was loaded, and fails if something was not. */
const report = Effect.fnUntraced(function* ({ failed, isKept, problems, removed, written }: LoadOutcome) {
  const removal = removed === 0 ? [] : [`Removed ${count(removed)} that the source does not have.`]
  const shown = (yield* Json) ? [] : problems.slice(0, maxProblems.onTerminal)
  for (const problem of shown) yield* Console.error(explainProblem(problem))
  yield* print(
    {
      loaded: written,
      removed,
      failed,
      problems: problems.map(({ file, line, problem }) => ({ file, line: line ?? null, problem }))
    },
    [`Loaded ${count(written)}.`, ...removal]
  )
  if (failed === 0) return
  const listed = (yield* Json) ? problems.length : shown.length
  const more = failed > listed ? ` (the first ${listed} are listed)` : ""
  const kept = isKept ? " Nothing was removed, because a broken document has not vanished." : ""
  return yield* new CommandFailed({ message: `${failed} could not be loaded${more}.${kept}` })
})

const open = Effect.fnUntraced(function* (
  path: string,
  { base, folder }: { readonly base: Option.Option<URL>; readonly folder: Option.Option<string> }
): Effect.fn.Return<DocumentSource, CommandFailed, FileSystem.FileSystem | Path.Path> {
  const { dirname } = yield* Path.Path
  const files = yield* FileSystem.FileSystem
  const { type } = yield* Effect.orDie(files.stat(path))
  if (type === "Directory") {
    if (Option.isSome(base)) return yield* LocalPages.openFolder(path, base.value)
    return yield* new CommandFailed({
      message: `${path} is a folder: --base-url says at which address it is published, such as https://docs.example.org/`
    })
  }
  if (/\.xml$/i.test(path)) {
    const options = { base: Option.getOrUndefined(base), folder: Option.getOrElse(folder, () => dirname(path)) }
    return yield* LocalPages.openSitemap({ sitemap: path, ...options })
  }
  if (Option.isNone(base) && Option.isNone(folder)) return yield* DocumentFile.open(path)
  return yield* new CommandFailed({ message: `--base-url and --folder are for pages, and ${path} has documents.` })
})

const load = Command.make(
  "load",
  {
    source: Argument.Path("source", { mustExist: true }).pipe(
      Argument.withDescription(
        "A .jsonl or .jsonl.gz file of { url, title, description, content?, language? }, a folder of HTML and Markdown " +
          "files, or the sitemap (.xml) of such a folder"
      )
    ),
    target: Flag.Literals("target", targets).pipe(
      Flag.withDescription("The target these documents serve; all six by default"),
      Flag.optional
    ),
    base: Flag.String("base-url").pipe(
      Flag.withDescription("The address at which the folder is published"),
      Flag.filterMap(
        (text) => Option.fromUndefinedOr(baseOf(text)),
        () => "an http(s) address such as https://docs.example.org/"
      ),
      Flag.optional
    ),
    folder: Flag.Directory("folder", { mustExist: true }).pipe(
      Flag.withDescription("The folder of a sitemap's files; the sitemap's own by default"),
      Flag.optional
    ),
    replace: Flag.Boolean("replace").pipe(
      Flag.withDescription("Remove the documents of this target that the source does not have"),
      Flag.withDefault(false)
    )
  },
  Effect.fn(function* ({ base, folder, replace, source, target }) {
    const opened = yield* open(source, { base, folder })
    yield* recordFirst({
      command: "index load",
      subject: undefined,
      arguments: { source, target: Option.getOrUndefined(target), ...(replace ? { replace } : {}) }
    })
    yield* report(yield* loadFrom(opened, Option.getOrUndefined(target), replace))
  })
).pipe(Command.withDescription("Add documents, replacing those with the same address and target"))

const stats = Command.make(
  "stats",
  {},
  Effect.fn(function* () {
    const { byTarget, documents } = yield* Effect.flatMap(DocumentIndex, (index) => index.stats)
    yield* print(
      { documents, by_target: byTarget },
      table([["Documents", `${documents}`], ...Object.entries(byTarget).map(([target, count]) => [target, `${count}`])])
    )
  })
).pipe(Command.withDescription("Count the documents"))

const clear = Command.make(
  "clear",
  {},
  Effect.fn(function* () {
    const index = yield* DocumentIndex
    const removed = yield* audited(index.clear, (documents) => ({
      command: "index clear",
      subject: undefined,
      arguments: { documents }
    }))
    yield* print({ removed }, [`Removed ${removed} documents.`])
  })
).pipe(Command.withDescription("Remove every document"))

export const documents = <E, R>(storage: Layer.Layer<AppConfig | Audit | DocumentIndex, E, R>) =>
  Command.make("index").pipe(
    Command.withDescription("Documents of the built-in index"),
    Command.withSubcommands([
      load.pipe(Command.provide(storage)),
      stats.pipe(Command.provide(storage)),
      clear.pipe(Command.provide(storage))
    ])
  )
