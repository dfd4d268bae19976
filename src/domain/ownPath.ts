/**
 * The path, query and fragment of an address of this deployment, as one that leads nowhere else: undefined for whatever
 * a browser takes for another site. `/.//other.example` is a path of ours with the name `//other.example`, which alone
 * would be another site, so that a path begins with one slash.
 */
export const ownPath = (address: string, baseUrl: string): string | undefined => {
  const base = new URL(baseUrl)
  const url = URL.parse(address, baseUrl)
  // A `blob:` address has the origin of the address in it.
  if (url === null || url.origin !== base.origin || url.protocol !== base.protocol) return undefined
  return `${url.pathname.replace(/^\/+/, "/")}${url.search}${url.hash}`
}
