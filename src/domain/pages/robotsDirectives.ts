import { productToken } from "./robots.ts"

export interface RobotsDirectives {
  readonly isIndexed: boolean
  readonly isFollowed: boolean
}

/** Directives with a value after a colon. Any other word before a colon names a crawler. */
const valued: ReadonlySet<string> = new Set([
  "max-snippet",
  "max-image-preview",
  "max-video-preview",
  "unavailable_after"
])

const crawlerName = /^\s*([a-z_-]+|\*)\s*:(.*)$/s

/** The words of a list that are meant for all crawlers or for this service. */
const wordsIn = (list: string): ReadonlyArray<string> => {
  const words: Array<string> = []
  let isForUs = true
  for (const item of list.toLowerCase().split(",")) {
    const [, name, directives = item] = crawlerName.exec(item) ?? []
    if (name !== undefined && valued.has(name)) continue
    if (name !== undefined) isForUs = name === productToken || name === "*"
    if (isForUs) words.push(...directives.trim().split(/\s+/))
  }
  return words
}

/**
 * Reads lists such as `noindex, max-image-preview:none`, each from an `X-Robots-Tag` header or a `robots` meta element.
 * In a header, `name:` limits the rest of its list to one crawler.
 */
export const readDirectives = (lists: ReadonlyArray<string>): RobotsDirectives => {
  const words = new Set(lists.flatMap(wordsIn))
  return {
    isIndexed: !words.has("noindex") && !words.has("none"),
    isFollowed: !words.has("nofollow") && !words.has("none")
  }
}
