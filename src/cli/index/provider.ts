import { Effect, type FileSystem, type Path, type Stdio, type Stream } from "effect"
import type { DocumentSourceError } from "../../layers/index/DocumentSource.ts"
import type { Document } from "../../services/index/DocumentIndex.ts"
import type { StoreOptions } from "../../services/index/DocumentStore.ts"
import { ProviderStates } from "../../services/providers/ProviderStates.ts"
import { CommandFailed } from "../Output.ts"

type Documents = Stream.Stream<Document, DocumentSourceError, FileSystem.FileSystem | Path.Path | Stdio.Stdio>

/** Loads documents into a provider of the provider file, such as OpenSearch, instead of the built-in index. */
export const loadIntoProvider = Effect.fnUntraced(function* (
  name: string,
  documents: Documents,
  options: StoreOptions
) {
  const provider = yield* Effect.flatMap(ProviderStates, ({ named }) => named(name))
  if (provider === undefined) {
    return yield* new CommandFailed({ message: `No target of the provider file uses a provider named ${name}.` })
  }
  if (provider.store === undefined) {
    return yield* new CommandFailed({
      message: `Documents cannot be loaded into ${name}: only providers of the type opensearch accept them.`
    })
  }
  return yield* provider.store
    .load(documents, options)
    .pipe(
      Effect.catchTag("Refusal", ({ message, reason }) =>
        Effect.fail(new CommandFailed({ message: `${name} stopped the load (${reason}): ${message}` }))
      )
    )
})
