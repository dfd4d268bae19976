import { Context, type Effect } from "effect"
import type { Document, ParsedPage, ParseFailure } from "../../domain/pages/Page.ts"

/** Converts documents to text outside the event loop. */
export class PageParser extends Context.Service<
  PageParser,
  {
    /**
     * Waits at most `PAGES_TIMEOUT` for a free parser, then parses for at most 5 seconds. Interruption removes the
     * document from the queue or stops its parser.
     */
    readonly parse: (document: Document) => Effect.Effect<ParsedPage, ParseFailure>
  }
>()("quarry/services/pages/PageParser") {}
