import { hostOf, isLoopbackHost } from "../net/Network.ts"

/**
 * The page that sent a request, as browsers report it in `Origin` and `Sec-Fetch-Site`. Scripts cannot set these
 * headers; other clients usually send neither.
 */
export interface CallingPage {
  readonly origin: string | undefined
  readonly site: string | undefined
}

/**
 * A header of the dashboard's own requests. Other sites cannot send it: navigations and images have no custom headers,
 * and for scripts the browser sends a preflight, which never allows this header.
 */
export const dashboardHeader = "X-Quarry-Dashboard"

/** `Sec-Fetch-Site: none` means the address bar. */
export const isCrossOrigin = ({ origin, site }: CallingPage, own: string): boolean =>
  (origin !== undefined && origin !== own) || (site !== undefined && site !== "same-origin" && site !== "none")

export const isOwnPage = (page: CallingPage, own: string): boolean =>
  !isCrossOrigin(page, own) && (page.origin !== undefined || page.site === "same-origin")

/**
 * Returns true if browsers omit `Sec-Fetch-Site` for this origin, which they do for plain http except on loopback. A
 * link on another site then looks like the person's own request.
 */
export const hidesCallingPage = (own: string): boolean => {
  const url = new URL(own)
  return url.protocol === "http:" && !isLoopbackHost(hostOf(url))
}
