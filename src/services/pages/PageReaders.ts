import { Context, type Duration, type Effect } from "effect"
import type { PageUnreadable, UpstreamError, UpstreamTimeout } from "../../domain/errors.ts"
import type { PageCopy } from "../../domain/pages/PageBody.ts"

/** The page itself cannot be read, or a reader is down. Neither is charged (R59). */
export type ReadFailure = PageUnreadable | UpstreamError | UpstreamTimeout

export interface RemoteReader {
  /** From the provider file. */
  readonly name: string
  /** Fails with `upstream_timeout` after `timeout`. */
  readonly read: (url: URL, timeout: Duration.Duration) => Effect.Effect<PageCopy, ReadFailure>
}

/** Quarry's own fetcher and parser. */
export const direct = "direct"

/** In the order in which they are tried. */
export const PageReaders = Context.Reference<ReadonlyArray<typeof direct | RemoteReader>>(
  "quarry/references/PageReaders",
  { defaultValue: () => [direct] }
)

/** True if the next reader may do better: a challenge, a page that needs a browser, or a reader that is down. */
export const mayBeReadElsewhere = (failure: ReadFailure): boolean =>
  failure._tag !== "page_unreadable" || failure.reason === "forbidden" || failure.reason === "no_text"
