/**
 * The page that a request comes from, as the browser tells it: `Origin` and `Sec-Fetch-Site`, undefined where it sends
 * none. No page can change either, and what is no browser sends neither.
 */
export interface CallingPage {
  readonly origin: string | undefined
  readonly site: string | undefined
}

/** Whether a request says that it comes from elsewhere. `none` is a person at the address bar. */
export const isCrossOrigin = ({ origin, site }: CallingPage, own: string): boolean =>
  (origin !== undefined && origin !== own) || (site !== undefined && site !== "same-origin" && site !== "none")

/** Whether a request says that it comes from a page of this deployment, and nothing of it says otherwise. */
export const isOwnPage = (page: CallingPage, own: string): boolean =>
  !isCrossOrigin(page, own) && (page.origin !== undefined || page.site === "same-origin")
