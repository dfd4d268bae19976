import { parseAddress } from "../net/address.ts"

/** For redirects. Reduces leading slashes to one, because the path `//other.example` would redirect to another site. */
export const ownPath = (address: string, baseUrl: string): string | undefined => {
  const base = new URL(baseUrl)
  const url = parseAddress(address, baseUrl)
  // A `blob:` URL has the origin of the URL inside it, so the protocol is compared too.
  if (url === null || url.origin !== base.origin || url.protocol !== base.protocol) return undefined
  return `${url.pathname.replace(/^\/+/, "/")}${url.search}${url.hash}`
}
