import { parseAddress } from "./address.ts"

/**
 * The path, query and fragment of a URL of this deployment, for redirects; undefined for a URL of another origin. Slashes
 * at the start are reduced to one: `/.//other.example` has the path `//other.example`, which is another site by itself.
 */
export const ownPath = (address: string, baseUrl: string): string | undefined => {
  const base = new URL(baseUrl)
  const url = parseAddress(address, baseUrl)
  // A `blob:` URL has the origin of the URL inside it, so that the protocol is compared too.
  if (url === null || url.origin !== base.origin || url.protocol !== base.protocol) return undefined
  return `${url.pathname.replace(/^\/+/, "/")}${url.search}${url.hash}`
}
