import { Effect, type Layer, Option, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { targets } from "../domain/Target.ts"
import * as DocumentFile from "../layers/DocumentFile.ts"
import { type Document, DocumentIndex } from "../services/DocumentIndex.ts"
import { print, table } from "./Output.ts"

/** Documents between two updates of the counter: often enough to be seen moving. */
const progressEvery = 500

/** Counts on stderr, and only for a person who watches it. */
const withProgress = <E, R>(documents: Stream.Stream<Document, E, R>) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio.Stdio
    if (!(yield* stdio.stderrIsTerminal)) return documents
    const write = (text: string) => Effect.ignore(Stream.run(Stream.make(text), stdio.stderr({ endOnDone: false })))
    return documents.pipe(
      Stream.zipWithIndex,
      Stream.tap(([, index]) => (index % progressEvery === 0 ? write(`\r${index} documents`) : Effect.void)),
      Stream.map(([document]) => document),
      Stream.ensuring(write("\r\u001b[K"))
    )
  })

const load = Command.make(
  "load",
  {
    file: Argument.File("file", { mustExist: true }).pipe(
      Argument.withDescription("A .jsonl or .jsonl.gz file; lines are { url, title, description, language? }")
    ),
    target: Flag.Literals("target", targets).pipe(
      Flag.withDescription("The target these documents serve; all six by default"),
      Flag.optional
    )
  },
  Effect.fn(function* ({ file, target }) {
    const index = yield* DocumentIndex
    const documents = yield* withProgress(DocumentFile.read(file))
    const { written } = yield* index.load(documents, { target: Option.getOrUndefined(target), replace: false })
    yield* print({ loaded: written }, [`Loaded ${written} documents.`])
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
    const removed = yield* Effect.flatMap(DocumentIndex, (index) => index.clear)
    yield* print({ removed }, [`Removed ${removed} documents.`])
  })
).pipe(Command.withDescription("Remove every document"))

export const documents = <E, R>(storage: Layer.Layer<DocumentIndex, E, R>) =>
  Command.make("index").pipe(
    Command.withDescription("Documents of the built-in index"),
    Command.withSubcommands([
      load.pipe(Command.provide(storage)),
      stats.pipe(Command.provide(storage)),
      clear.pipe(Command.provide(storage))
    ])
  )
