import { parseAddress } from "../net/address.ts"

/** Entries are in the form that `parseSite` returns. */
export interface SiteLists {
  readonly includeDomains?: ReadonlyArray<string> | undefined
  readonly excludeDomains?: ReadonlyArray<string> | undefined
}

/** A DNS name has at most 253 characters; a path may have a few more. */
const maxSiteUnits = 500

const hostPattern =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/

/** Removes a leading `www.`, unless only a top-level domain would be left. */
const withoutWww = (host: string): string => (/^www\.[^.]+\./.test(host) ? host.slice("www.".length) : host)

/**
 * Compares paths without regard to letter case, repeated slashes, a final slash and needless percent-encoding: a
 * server treats these forms alike, so an excluded page must not return under another spelling.
 */
const normalizePath = (pathname: string): string => {
  let path = pathname
  try {
    path = decodeURI(pathname)
  } catch {
    // Not UTF-8: compared as written.
  }
  return path
    .toLowerCase()
    .replaceAll(/\/{2,}/g, "/")
    .replace(/\/$/, "")
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/\.+$/, "")

/**
 * Parses an entry of a domain list, such as `example.org`, `*.example.org` or `docs.example.org/guide`. Returns the
 * host in ASCII, followed by the path if there is one; undefined for anything else, such as a port or a query.
 */
export const parseSite = (text: string): string | undefined => {
  const entry = text.trim()
  if (entry.length > maxSiteUnits || /[\s?#@\\\p{Cc}]/u.test(entry) || !entry.isWellFormed()) return undefined
  const bare = entry.replace(/^https?:\/\//i, "").replace(/^(?:\*\.|\.)/, "")
  if (bare.startsWith("/") || /^[^/]*:/.test(bare)) return undefined
  const url = parseAddress(`http://${bare}`)
  if (url === null) return undefined
  const host = withoutWww(hostOf(url))
  return hostPattern.test(host) ? `${host}${normalizePath(url.pathname)}` : undefined
}

/** Splits an entry that `parseSite` returned. The path starts with a slash, or is empty. */
export const siteParts = (site: string): { readonly host: string; readonly path: string } => {
  const slash = site.indexOf("/")
  return slash < 0 ? { host: site, path: "" } : { host: site.slice(0, slash), path: site.slice(slash) }
}

const isWithin = (part: string, whole: string, separator: string, end: "start" | "end"): boolean =>
  part === whole || (end === "start" ? part.startsWith(whole + separator) : part.endsWith(separator + whole))

/** True for addresses on one of the sites or their subdomains, and below the path if there is one. */
const matcher = (sites: ReadonlyArray<string>): ((url: URL) => boolean) => {
  const parts = sites.map(siteParts)
  const hasPaths = parts.some(({ path }) => path !== "")
  return (url) => {
    const host = hostOf(url)
    const pagePath = hasPaths ? normalizePath(url.pathname) : ""
    return parts.some(
      ({ host: site, path }) =>
        isWithin(host, site, ".", "end") && (path === "" || isWithin(pagePath, path, "/", "start"))
    )
  }
}

/**
 * Checks every result, regardless of the engine. Undefined without domains, so that other searches do not pay for it.
 */
export const makeSiteFilter = ({
  excludeDomains = [],
  includeDomains = []
}: SiteLists): ((url: URL) => boolean) | undefined => {
  if (excludeDomains.length + includeDomains.length === 0) return undefined
  const isIncluded = includeDomains.length === 0 ? () => true : matcher(includeDomains)
  const isExcluded = matcher(excludeDomains)
  return (url) => isIncluded(url) && !isExcluded(url)
}
