import { Console, Effect, FileSystem, Layer, Option, Path, Ref, Result, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { baseOf } from "../../domain/pages/pageAddress.ts"
import { type Target, targets } from "../../domain/search/Target.ts"
import { plural } from "../../domain/text.ts"
import * as DocumentFile from "../../layers/index/DocumentFile.ts"
import { type DocumentProblem, type DocumentSource, explainProblem } from "../../layers/index/DocumentSource.ts"
import * as LocalPages from "../../layers/index/LocalPages.ts"
import {
  type Comparison,
  DocumentIndex,
  maxUnaskedShare,
  type Replacement,
  removesMuch
} from "../../services/index/DocumentIndex.ts"
import { ExternalIndexes } from "../../services/index/ExternalIndexes.ts"
import { removeDocuments } from "../../services/operations/acts/deployment.ts"
import { writesMore, writesNothing } from "../effects.ts"
import { optional, optionalText, requireYes, toggle } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, Json, print } from "../Output.ts"
import { actCommand } from "../operations/actCommand.ts"
import { actFlags } from "../operations/actFlags.ts"
import { audited, recordFirst } from "../operations/audited.ts"
import { crawl } from "./crawl.ts"
import { withProgress } from "./loadProgress.ts"
import { stats } from "./stats.ts"

/** Maximum problems to list: a file in the wrong format has a problem on every line. */
const maxProblems = { inJson: 100, onTerminal: 20 }

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

const unchecked = { failed: 0, comparison: { documents: 0, removed: 0 } }

const count = (documents: number): string => plural(documents, "document")

const wholeDocuments = (what: string, source: DocumentSource, tally: Ref.Ref<Tally>) =>
  source.documents.pipe(
    withProgress(what, source.share),
    Stream.tap((document) => Ref.update(tally, (all) => addTo(all, document))),
    Stream.filterMap((document) => document)
  )

interface LoadFlags {
  readonly target: Target | undefined
  readonly replace: false | Replacement
  readonly yes: boolean
}

const tooMany = ({ documents, removed }: Comparison): string =>
  `This would remove ${count(removed)} of the ${documents} in the index, more than ${maxUnaskedShare * 100} %.`

const check = Effect.fnUntraced(function* (source: DocumentSource, { replace, target }: Omit<LoadFlags, "yes">) {
  const tally = yield* Ref.make(nothing)
  const documents = wholeDocuments("Checked", source, tally)
  if (replace === false) {
    yield* Stream.runDrain(documents)
    return { ...(yield* Ref.get(tally)), comparison: unchecked.comparison }
  }
  const comparison = yield* Effect.flatMap(DocumentIndex, (index) => index.compare(documents, { target, replace }))
  const checked = yield* Ref.get(tally)
  if (checked.read === 0) {
    return yield* new CommandFailed({
      message: "The source has no documents, so nothing was removed. To remove all documents, run index clear."
    })
  }
  return { ...checked, comparison }
})

/** Counts what a load would do. A load removes nothing if the source has a broken document. */
const checkFrom = Effect.fnUntraced(function* (source: DocumentSource, flags: LoadFlags) {
  const { comparison, ...checked } = yield* check(source, flags)
  const isKept = flags.replace !== false && checked.failed > 0
  return { ...checked, written: checked.read - checked.failed, removed: isKept ? 0 : comparison.removed, isKept }
})

/** Removes missing documents only if every document of the source is valid. */
const loadFrom = Effect.fnUntraced(function* (source: DocumentSource, { replace, target, yes }: LoadFlags) {
  const index = yield* DocumentIndex
  const { comparison, failed } = replace === false ? unchecked : yield* check(source, { replace, target })
  const isWhole = failed === 0
  if (isWhole && removesMuch(comparison)) {
    yield* requireYes(yes, tooMany(comparison))
  }
  const tally = yield* Ref.make(nothing)
  const { removed, written } = yield* index
    .load(wholeDocuments("Loaded", source, tally), { target, replace: isWhole && replace })
    .pipe(
      Effect.onInterrupt(() =>
        Effect.flatMap(Ref.get(tally), ({ read }) =>
          Console.error(`Stopped after reading ${read} documents. Run the same command again to load the rest.`)
        )
      )
    )
  return { ...(yield* Ref.get(tally)), written, removed, isKept: replace !== false && !isWhole }
})

const loadOutside = Effect.fnUntraced(function* (source: DocumentSource, provider: string, target: Target | undefined) {
  const indexes = yield* ExternalIndexes
  const tally = yield* Ref.make(nothing)
  const loaded = yield* indexes.load(provider, wholeDocuments("Loaded", source, tally), target)
  const { failed, problems, read } = yield* Ref.get(tally)
  const rejected = loaded.problems.map(({ problem, url }) => ({ file: url, line: undefined, problem }))
  return {
    read,
    failed: failed + loaded.rejected,
    problems: [...problems, ...rejected].slice(0, maxProblems.inJson),
    written: loaded.written,
    removed: 0,
    isKept: false
  }
})

type LoadOutcome = Effect.Success<ReturnType<typeof loadFrom>>

const report = Effect.fnUntraced(function* (
  { failed, isKept, problems, removed, written }: LoadOutcome,
  { dryRun }: { readonly dryRun: boolean }
) {
  const [loaded, gone] = dryRun ? ["Would load", "Would remove"] : ["Loaded", "Removed"]
  const removal = removed === 0 ? [] : [`${gone} ${count(removed)} that the source does not have.`]
  const shown = (yield* Json) ? [] : problems.slice(0, maxProblems.onTerminal)
  for (const problem of shown) yield* Console.error(explainProblem(problem))
  yield* print(
    {
      loaded: written,
      removed,
      failed,
      ...(dryRun ? { dry_run: true } : {}),
      problems: problems.map(({ file, line, problem }) => ({ file, line: line ?? null, problem }))
    },
    [`${loaded} ${count(written)}.`, ...removal]
  )
  if (failed === 0) return
  const listed = (yield* Json) ? problems.length : shown.length
  const more = failed > listed ? ` (the first ${listed} are listed)` : ""
  const kept = isKept ? " Nothing was removed, because a broken document may still be published." : ""
  const could = dryRun ? "cannot" : "could not"
  return yield* new CommandFailed({ message: `${failed} ${could} be loaded${more}.${kept}` })
})

const open = Effect.fnUntraced(function* (
  path: string,
  { base, folder }: { readonly base: URL | undefined; readonly folder: string | undefined }
): Effect.fn.Return<DocumentSource, CommandFailed, FileSystem.FileSystem | Path.Path> {
  const { dirname } = yield* Path.Path
  const files = yield* FileSystem.FileSystem
  const { type } = yield* Effect.orDie(files.stat(path))
  if (type === "Directory") {
    if (base !== undefined) return yield* LocalPages.openFolder(path, base)
    return yield* new CommandFailed({
      message: `${path} is a folder, and its pages need addresses. Say where it is published: --base-url https://docs.example.org/`
    })
  }
  if (/\.xml$/i.test(path)) {
    return yield* LocalPages.openSitemap({ sitemap: path, base, folder: folder ?? dirname(path) })
  }
  if (base === undefined && folder === undefined) return yield* DocumentFile.open(path)
  return yield* new CommandFailed({
    message: `${path} already contains the addresses of its documents. Remove --base-url and --folder, which are for folders of pages.`
  })
})

const load = Command.make(
  "load",
  {
    source: Argument.Path("source", { mustExist: true }).pipe(
      Argument.withDescription(
        "A .jsonl or .jsonl.gz file with one { url, title, description, content?, language?, published? } per line, a " +
          "folder of HTML and Markdown files, or the sitemap (.xml) of such a folder"
      )
    ),
    target: Flag.Literals("target", targets).pipe(
      Flag.withDescription("The target these documents are for (default: all six)"),
      optional
    ),
    base: Flag.String("base-url").pipe(
      Flag.withDescription("The URL where the folder is published"),
      Flag.filterMap(
        (text) => Option.fromUndefinedOr(baseOf(text)),
        () => "an http(s) URL such as https://docs.example.org/"
      ),
      optional
    ),
    folder: Flag.Directory("folder", { mustExist: true }).pipe(
      Flag.withDescription("The folder with the sitemap's files (default: the folder of the sitemap)"),
      optional
    ),
    replace: toggle(
      "replace",
      "Remove documents of this target that are missing from the source: those below --base-url if given, otherwise " +
        "those on the sites in the source"
    ),
    provider: optionalText(
      "provider",
      "Load into the index of this provider, of type opensearch, instead of the built-in one"
    ),
    dryRun: toggle("dry-run", "Show what would be loaded and removed without changing anything"),
    yes: toggle("yes", `Allow --replace to remove more than ${maxUnaskedShare * 100}% of the index`)
  },
  Effect.fn(function* ({ base, dryRun, folder, provider, replace, source, target, yes }) {
    if (provider !== undefined && replace) {
      return yield* new CommandFailed({
        message:
          "--replace works only on the built-in index. To replace the documents of a provider, delete its index, create it again, and load without --replace."
      })
    }
    const opened = yield* open(source, { base, folder })
    const flags = { target, replace: replace && { under: base?.href }, yes }
    if (dryRun) return yield* report(yield* checkFrom(opened, flags), { dryRun })
    yield* recordFirst({
      command: "index load",
      subject: undefined,
      arguments: {
        source,
        target,
        ...(replace ? { replace } : {}),
        ...(provider === undefined ? {} : { provider })
      }
    })
    if (provider !== undefined) return yield* report(yield* loadOutside(opened, provider, target), { dryRun })
    yield* report(yield* loadFrom(opened, flags), { dryRun })
  })
).pipe(Command.withDescription("Add documents, replacing those with the same URL and target"))

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
).pipe(Command.withDescription("Remove all documents"))

const remove = actCommand("remove", "Remove a document, or all documents of a site", {
  flags: actFlags["index remove"],
  act: removeDocuments,
  show: (result) => print(result, [`Removed ${count(result.removed)}.`])
})

export const documents = <E, R>({ crawling, external, reading, storage }: CommandLayers<E, R>) =>
  Command.make("index").pipe(
    Command.withDescription("Manage the documents of the built-in index"),
    Command.withSubcommands([
      load.pipe(writesMore, Command.provide(Layer.merge(storage, external))),
      crawl.pipe(writesMore, Command.provide(crawling)),
      stats.pipe(writesNothing, Command.provide(reading)),
      remove.pipe(writesMore, Command.provide(storage)),
      clear.pipe(writesMore, Command.provide(storage))
    ])
  )
