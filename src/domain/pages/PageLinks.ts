import { cutCodePoints } from "../text.ts"
import type { PageLink } from "./Page.ts"

/** Limits of R83. A longer address is left out, and a longer label is cut. */
export const maxLinkAddressCharacters = 2_048
export const maxLinkLabelCharacters = 200

/**
 * Characters of addresses and labels in one response, for all its pages. The links of one page always fit: 200 of them
 * have at most 449,600.
 */
export const maxLinkCharacters = 500_000

/** Undefined for a link that is left out. */
export const boundLink = ({ text, url }: PageLink): PageLink | undefined =>
  url.length > maxLinkAddressCharacters ? undefined : { url, text: cutCodePoints(text, maxLinkLabelCharacters) }

/** Limits the links of a response. Links that no longer fit are left out. */
export class LinkBudget {
  #left = maxLinkCharacters

  /** The first of these links that fit. */
  take(links: ReadonlyArray<PageLink>): ReadonlyArray<PageLink> {
    const taken: Array<PageLink> = []
    for (const link of links) {
      const bounded = boundLink(link)
      if (bounded === undefined) continue
      const characters = bounded.url.length + bounded.text.length
      if (characters > this.#left) break
      this.#left -= characters
      taken.push(bounded)
    }
    return taken
  }
}
