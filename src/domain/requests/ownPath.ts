import { parseAddress } from "../net/address.ts"

/**
 * Returns the path, query and fragment of a URL of this deployment, for redirects; undefined for other origins. Leading
 * slashes are reduced to one: the path `//other.example` by itself would redirect to another site.
 */
export const ownPath = (address: string, baseUrl: string): string | undefined => {
  const base = new URL(baseUrl)
  const url = parseAddress(address, baseUrl)
  // A `blob:` URL has the origin of the URL inside it, so the protocol is compared too.
  if (url === null || url.origin !== base.origin || url.protocol !== base.protocol) return undefined
  return `${url.pathname.replace(/^\/+/, "/")}${url.search}${url.hash}`
}
