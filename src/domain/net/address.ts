/** DNS names have at most 253 characters (RFC 1035). */
const maxHostCharacters = 512

const hostEnd = /[/\\?#]/

const indexOfHostEnd = (text: string): number => {
  const end = text.search(hostEnd)
  return end < 0 ? text.length : end
}

/** Measures the host as browsers find it. Without this limit, `URL` converts a host to ASCII in quadratic time. */
export const hasShortHost = (address: string): boolean => {
  if (address.length <= maxHostCharacters) return true
  const text = address.replaceAll(/[\t\n\r]/g, "")
  const scheme = indexOfHostEnd(text)
  const host = text.slice(scheme).replace(/^[/\\]+/, "")
  return scheme <= maxHostCharacters && indexOfHostEnd(host) <= maxHostCharacters
}

export const formatAddress = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`

/** Returns null if the URL is invalid or its host is too long. */
export const parseAddress = (address: string, base?: string): URL | null =>
  hasShortHost(address) ? URL.parse(address, base) : null
