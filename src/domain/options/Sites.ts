import { parseAddress } from "../net/address.ts"

/** As `parseSite` returns them. */
export interface SiteLists {
  readonly includeDomains?: ReadonlyArray<string> | undefined
  readonly excludeDomains?: ReadonlyArray<string> | undefined
}

/** A DNS name has at most 253 characters; a path may add a few. */
const maxSiteUnits = 500

const hostPattern =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/

/** Keeps `www` if only a top-level domain would be left. */
const withoutWww = (host: string): string => (/^www\.[^.]+\./.test(host) ? host.slice("www.".length) : host)

/** Servers treat these spellings alike, so an excluded page must not return under another. */
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

/** Parses `example.org`, `*.example.org` or `docs.example.org/guide`. Returns the ASCII host and path, or undefined. */
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

/** Undefined without domains, so that other searches do not pay for it. */
export const makeSiteFilter = ({
  excludeDomains = [],
  includeDomains = []
}: SiteLists): ((url: URL) => boolean) | undefined => {
  if (excludeDomains.length + includeDomains.length === 0) return undefined
  const isIncluded = includeDomains.length === 0 ? () => true : matcher(includeDomains)
  const isExcluded = matcher(excludeDomains)
  return (url) => isIncluded(url) && !isExcluded(url)
}
