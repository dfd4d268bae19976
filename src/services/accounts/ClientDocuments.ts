import { Context, Data, type Duration, type Effect } from "effect"
import type { ClientMetadata } from "../../domain/accounts/ClientMetadata.ts"

export interface FetchedDocument extends ClientMetadata {
  /** The time for which the document may be used without fetching it again. */
  readonly freshFor: Duration.Duration
}

/** The document cannot be used. `reason` is for the operator: it can reveal which addresses answer. */
export class ClientDocumentUnusable extends Data.TaggedError("ClientDocumentUnusable")<{ readonly reason: string }> {}

/** Metadata documents of apps whose client ID is an https URL, instead of a registration. */
export class ClientDocuments extends Context.Service<
  ClientDocuments,
  {
    /**
     * Applies the rules for pages: only public addresses, and limits. `clientId` is the document's URL. Requesters, which are
     * client addresses, share fetches fairly; unknown ones count as one.
     */
    readonly fetch: (clientId: string, requester?: string) => Effect.Effect<FetchedDocument, ClientDocumentUnusable>
  }
>()("quarry/services/accounts/ClientDocuments") {}
