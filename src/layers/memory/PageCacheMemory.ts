import { Clock, Effect, Layer } from "effect"
import type { PageCopy } from "../../domain/pages/PageBody.ts"
import { maxAgeSeconds } from "../../domain/pages/PageRequest.ts"
import { maxCopyBytes, PageCache } from "../../services/pages/PageCache.ts"
import { BoundedStore, makeSweeping } from "./BoundedStore.ts"

type Kept = { readonly copy: PageCopy } | { readonly movedTo: string }

const bounds = {
  ttlMs: maxAgeSeconds * 1000,
  capacity: 10_000,
  maxBytes: 64 * 1024 * 1024,
  // Text may take two bytes per character.
  maxValueBytes: 2 * maxCopyBytes
}

const sizeOf = (kept: Kept): number =>
  "copy" in kept
    ? 2 * (kept.copy.page.markdown.length + kept.copy.page.text.length + sizeOfLinks(kept.copy))
    : 2 * kept.movedTo.length

const sizeOfLinks = ({ page }: PageCopy): number =>
  page.links.reduce((sum, { text, url }) => sum + text.length + url.length, 0)

export const layer: Layer.Layer<PageCache> = Layer.effect(
  PageCache,
  Effect.gen(function* () {
    const store = new BoundedStore<Kept>({ ...bounds, sizeOf })
    const startSweep = yield* makeSweeping(store)
    return PageCache.of({
      get: (url) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const kept = store.get(url, now)
          if (kept === undefined || "copy" in kept) return kept?.copy
          const moved = store.get(kept.movedTo, now)
          return moved !== undefined && "copy" in moved ? moved.copy : undefined
        }),
      set: (url, copy) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          store.set(copy.finalUrl, { copy }, now)
          if (url !== copy.finalUrl) store.set(url, { movedTo: copy.finalUrl }, now)
          return startSweep
        })
    })
  })
)
