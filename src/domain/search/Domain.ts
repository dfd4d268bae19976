import { parseAddress } from "../net/address.ts"

/** Parses an entry of a domain list: a host, a URL, `*.example.com` or `.example.com`. */
export const siteOf = (text: string): URL | null =>
  parseAddress(
    `http://${text
      .trim()
      .replace(/^https?:\/\//i, "")
      .replace(/^(?:\*\.|\.)/, "")}`
  )

/**
 * Returns a check if a URL belongs to one of these sites or their subdomains. An entry with a path matches URLs whose
 * path starts with it; invalid entries match nothing.
 */
export const matchDomains = (domains: ReadonlyArray<string>): ((url: string) => boolean) => {
  const sites = domains.map(siteOf).filter((site) => site !== null)
  return (url) => {
    const page = URL.parse(url)
    return page !== null && sites.some((site) => isBelow(page, site))
  }
}

const isBelow = (page: URL, site: URL): boolean =>
  (page.hostname === site.hostname || page.hostname.endsWith(`.${site.hostname}`)) &&
  page.pathname.startsWith(site.pathname)
