/**
 * The page that made a request, by the browser's `Origin` and `Sec-Fetch-Site`; undefined where a header is absent.
 * Scripts of a page can set neither. Clients that are no browsers usually send neither.
 */
export interface CallingPage {
  readonly origin: string | undefined
  readonly site: string | undefined
}

/** Checks if a request names another origin. `Sec-Fetch-Site: none` means the address bar. */
export const isCrossOrigin = ({ origin, site }: CallingPage, own: string): boolean =>
  (origin !== undefined && origin !== own) || (site !== undefined && site !== "same-origin" && site !== "none")

/** Checks if a request names this deployment's origin, and no header contradicts it. */
export const isOwnPage = (page: CallingPage, own: string): boolean =>
  !isCrossOrigin(page, own) && (page.origin !== undefined || page.site === "same-origin")
