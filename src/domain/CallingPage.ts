import { hostOf, isLoopbackHost } from "./Network.ts"

/**
 * The page that made a request, by the browser's `Origin` and `Sec-Fetch-Site`; undefined where a header is absent.
 * Scripts of a page can set neither. Clients that are no browsers usually send neither.
 */
export interface CallingPage {
  readonly origin: string | undefined
  readonly site: string | undefined
}

/**
 * The header of the dashboard's own requests. A page of another site cannot send it: a navigation or an image has no
 * headers of its own, and for a script's request the browser asks first, by a preflight that never allows this header.
 */
export const dashboardHeader = "X-Quarry-Dashboard"

/** Checks if a request names another origin. `Sec-Fetch-Site: none` means the address bar. */
export const isCrossOrigin = ({ origin, site }: CallingPage, own: string): boolean =>
  (origin !== undefined && origin !== own) || (site !== undefined && site !== "same-origin" && site !== "none")

/** Checks if a request names this deployment's origin, and no header contradicts it. */
export const isOwnPage = (page: CallingPage, own: string): boolean =>
  !isCrossOrigin(page, own) && (page.origin !== undefined || page.site === "same-origin")

/**
 * Checks if browsers leave `Sec-Fetch-Site` out of requests to this origin: they send it only over https and to this
 * machine. A link from another site then looks like the person's own request.
 */
export const hidesCallingPage = (own: string): boolean => {
  const url = new URL(own)
  return url.protocol === "http:" && !isLoopbackHost(hostOf(url))
}
