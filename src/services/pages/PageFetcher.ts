import { Context, type Duration, type Effect } from "effect"
import type { PageUnreadable } from "../../domain/errors.ts"

export interface FetchedPage {
  readonly finalUrl: string
  readonly status: number
  readonly contentType: string | undefined
  readonly etag?: string | undefined
  readonly lastModified?: string | undefined
  /** The decompressed body, at most `maxPageBytes`, in a buffer of its own. */
  readonly bytes: Uint8Array
}

/** The version that the caller has. If it is still current, the fetch fails with `site_error` and the status 304. */
export interface KnownVersion {
  readonly etag?: string | undefined
  readonly lastModified?: string | undefined
}

/** Fetches pages from untrusted addresses: only public ones, with robots.txt and limits (R59, R60). */
export class PageFetcher extends Context.Service<
  PageFetcher,
  {
    /** Accounts share fetches fairly. `timeout` covers queueing, robots.txt, redirects, host limits and the page. */
    readonly fetch: (
      url: URL,
      accountId: string,
      timeout: Duration.Duration,
      known?: KnownVersion
    ) => Effect.Effect<FetchedPage, PageUnreadable>
  }
>()("quarry/services/pages/PageFetcher") {}
