import { parseAddress } from "./address.ts"

/** The site that a list of domains names, as people write it: a host, an address, `*.example.com` or `.example.com`. */
const parse = (text: string): URL | null =>
  parseAddress(
    `http://${text
      .trim()
      .replace(/^https?:\/\//i, "")
      .replace(/^(?:\*\.|\.)/, "")}`
  )

/**
 * Makes the check if an address is of one of these sites, or of a site below it; with a path in the site's name, if it begins
 * with the path. Text that names no site matches nothing.
 */
export const matchDomains = (domains: ReadonlyArray<string>): ((url: string) => boolean) => {
  const sites = domains.map(parse).filter((site) => site !== null)
  return (url) => {
    const page = URL.parse(url)
    return page !== null && sites.some((site) => isBelow(page, site))
  }
}

const isBelow = (page: URL, site: URL): boolean =>
  (page.hostname === site.hostname || page.hostname.endsWith(`.${site.hostname}`)) &&
  page.pathname.startsWith(site.pathname)
