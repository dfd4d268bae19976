import { assert, describe, it } from "@effect/vitest"
import { readDirectives } from "../../../src/domain/pages/robotsDirectives.ts"

const both = { isIndexed: true, isFollowed: true }

describe("R84: what a page says to crawlers", () => {
  const cases: ReadonlyArray<readonly [lists: ReadonlyArray<string>, expected: Partial<typeof both>]> = [
    [[], {}],
    [["index, follow"], {}],
    [["noindex"], { isIndexed: false }],
    [[" NoIndex , NOFOLLOW "], { isIndexed: false, isFollowed: false }],
    [["noindex nofollow"], { isIndexed: false, isFollowed: false }],
    [["none"], { isIndexed: false, isFollowed: false }],
    [["index, max-image-preview:none"], {}],
    [["max-image-preview: none, max-snippet: -1"], {}],
    [["noindexing, unfollow, nonesuch"], {}],
    [["unavailable_after: Saturday, 25-Jun-2050 15:00:00 GMT, nofollow"], { isFollowed: false }],
    [["googlebot: noindex, nofollow"], {}],
    [["otherbot: noindex, quarry: nofollow"], { isFollowed: false }],
    [["googlebot: nofollow", "noindex"], { isIndexed: false }],
    [["follow", "noimageindex, noarchive"], {}]
  ]
  for (const [lists, expected] of cases) {
    it(lists.join(" | ") || "nothing", () => {
      assert.deepStrictEqual(readDirectives(lists), { ...both, ...expected })
    })
  }
})
