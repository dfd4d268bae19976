import { Context, type Effect } from "effect"
import type { PageCopy } from "../../domain/pages/PageBody.ts"

export const maxCopyBytes = 2 * 1024 * 1024

/** Copies of pages, shared by all callers. Failures are never stored (R60). */
export class PageCache extends Context.Service<
  PageCache,
  {
    /** The copy for an address, following the redirects seen when it was read. */
    readonly get: (url: string) => Effect.Effect<PageCopy | undefined>
    /** Stores a copy under its final address, and the requested address as an alias. */
    readonly set: (url: string, copy: PageCopy) => Effect.Effect<void>
  }
>()("quarry/services/pages/PageCache") {}
