const mount = "/compat/jina/"

/** The path under which such requests are routed, logged and traced. */
export const addressPath = `${mount}address`

/**
 * Moves the address of a page from the path of Jina's reader to the parameter `url`: the path would otherwise be decoded,
 * be compared with other spellings (R3), and stand in the access log, where the address of a page must not be.
 */
export const withoutAddressInPath = (url: string): string =>
  url.startsWith(mount) && url.length > mount.length
    ? `${addressPath}?url=${encodeURIComponent(url.slice(mount.length))}`
    : url
