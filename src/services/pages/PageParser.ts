import { Context, type Effect } from "effect"
import type { Document, ParsedPage, ParseFailure } from "../../domain/pages/Page.ts"

export class PageParser extends Context.Service<
  PageParser,
  {
    /** Waits at most `PAGES_TIMEOUT` for a parser, then parses for at most 5 seconds. Interruption stops both. */
    readonly parse: (document: Document) => Effect.Effect<ParsedPage, ParseFailure>
  }
>()("quarry/services/PageParser") {}
