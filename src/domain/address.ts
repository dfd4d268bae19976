/** The most characters of an address that may belong to its host. The name of a host has at most 253 (RFC 1035). */
const maxHostCharacters = 512

const hostEnd = /[/\\?#]/

const indexOfHostEnd = (text: string): number => {
  const end = text.search(hostEnd)
  return end < 0 ? text.length : end
}

/**
 * Checks the length of an address's host as browsers find it: they drop tabs and line ends, and accept any number of slashes.
 * `URL` converts a host to ASCII in time that grows with the square of its length.
 */
export const hasShortHost = (address: string): boolean => {
  if (address.length <= maxHostCharacters) return true
  const text = address.replaceAll(/[\t\n\r]/g, "")
  const scheme = indexOfHostEnd(text)
  const host = text.slice(scheme).replace(/^[/\\]+/, "")
  return scheme <= maxHostCharacters && indexOfHostEnd(host) <= maxHostCharacters
}

/** Parses an address that somebody else wrote. Returns null for text that is not an address, and for a host that is too long. */
export const parseAddress = (address: string, base?: string): URL | null =>
  hasShortHost(address) ? URL.parse(address, base) : null
