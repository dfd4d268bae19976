import { Context, type Duration, type Effect } from "effect"
import type { PageUnreadable } from "../../domain/errors.ts"
import type { Payer } from "../../domain/fairness/Payers.ts"

export interface FetchedPage {
  readonly finalUrl: string
  readonly status: number
  readonly contentType: string | undefined
  /** The version of the page, for the next request's `KnownVersion`. */
  readonly etag?: string | undefined
  readonly lastModified?: string | undefined
  /** The lines of `X-Robots-Tag`. */
  readonly robotsTags?: ReadonlyArray<string>
  /** The decompressed body, at most `maxPageBytes`, in a buffer of its own. */
  readonly bytes: Uint8Array
}

export interface FetchOptions {
  /** The version that the caller has. If it is still current, the fetch fails with `site_error` and the status 304. */
  readonly etag?: string | undefined
  readonly lastModified?: string | undefined
  /** Fetches a file of any media type and at most this many bytes, instead of a page. */
  readonly maxFileBytes?: number | undefined
}

/** Fetches pages from untrusted addresses, following R59 and R60: only public addresses, robots.txt and limits. */
export class PageFetcher extends Context.Service<
  PageFetcher,
  {
    /**
     * Fetches a page. Accounts share fetches fairly, and none holds more than a quarter of them (R83). `timeout` covers queueing, robots.txt, redirects, request limits
     * of the host, and the page itself. Interruption closes the connection.
     */
    readonly fetch: (
      url: URL,
      payer: Payer,
      timeout: Duration.Duration,
      options?: FetchOptions
    ) => Effect.Effect<FetchedPage, PageUnreadable>
  }
>()("quarry/services/pages/PageFetcher") {}
