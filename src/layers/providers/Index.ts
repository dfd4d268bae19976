import { Effect } from "effect"
import { DocumentIndex } from "../../services/DocumentIndex.ts"
import type { Provider } from "../../services/Provider.ts"

/** The built-in index as a provider. It refuses nothing: where its store fails, so does everything else. */
export const make = (name: string): Effect.Effect<Provider, never, DocumentIndex> =>
  Effect.map(DocumentIndex, ({ search }) => ({ name, search }))
