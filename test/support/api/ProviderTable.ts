import { Effect, FileSystem, Layer } from "effect"
import * as PacerMemory from "../../../src/layers/memory/PacerMemory.ts"
import * as ProviderFile from "../../../src/layers/providers/ProviderFile.ts"
import { UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import { DocumentIndex } from "../../../src/services/index/DocumentIndex.ts"
import type { Limits } from "../../../src/services/providers/Limits.ts"
import { membersOf, type Provider } from "../../../src/services/providers/Provider.ts"
import type { ProviderTable } from "../../../src/services/providers/Providers.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"

/** An index that returns one page for every search. */
export const index = Layer.mock(DocumentIndex, {
  search: () =>
    Effect.succeed({
      rows: [{ url: "https://index.test/", title: "from the index", snippet: "" }],
      isLoading: false
    })
})

/** Dependencies of providers, with real connections. */
export const foundations = (file: unknown) =>
  Layer.mergeAll(
    UpstreamClient.layer,
    PacerMemory.layer,
    index,
    FileSystem.layerNoop({ readFileString: () => Effect.succeed(JSON.stringify(file)) })
  )

const source = { _tag: "file", path: "providers.json" } as const

/** The providers of a provider file for the first target, in order. */
export const table = (file: unknown) => ProviderFile.table(source).pipe(Effect.provide(foundations(file)))

/** The search service with a provider file. */
export const providers = (file: unknown, settings: Layer.Layer<Limits> = StandardSettings.layer) =>
  ProviderFile.layer(source).pipe(Layer.provide([foundations(file), settings]), Layer.orDie)

/** The first provider of the first target. */
export const firstOf = (table: ProviderTable): Provider => {
  const [provider] = table.alpha_search.flatMap(membersOf)
  if (provider === undefined) throw new Error("the file has no provider for alpha_search")
  return provider
}
