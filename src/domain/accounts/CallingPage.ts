import { hostOf, isLoopbackHost } from "../net/Network.ts"
import { abbreviate } from "../text.ts"

/** The page that sent a request, as browsers report it. Scripts cannot set these headers; few other clients do. */
export interface CallingPage {
  readonly origin: string | undefined
  readonly site: string | undefined
}

/** Proves that the dashboard sent a request: only scripts can set it, and a preflight stops those of other sites. */
export const dashboardHeader = "X-Quarry-Dashboard"

/** `Sec-Fetch-Site: none` means that the user typed the address or opened a bookmark. */
export const isCrossOrigin = ({ origin, site }: CallingPage, own: string): boolean =>
  (origin !== undefined && origin !== own) || (site !== undefined && site !== "same-origin" && site !== "none")

export const isOwnPage = (page: CallingPage, own: string): boolean =>
  !isCrossOrigin(page, own) && (page.origin !== undefined || page.site === "same-origin")

const maxShownUnits = 100

/** Tells a person that their page was opened at another address than `BASE_URL`, where sessions do not count. */
export const explainOtherAddress = (origin: string, own: string): string =>
  `This page was opened at ${abbreviate(origin, maxShownUnits)}, but the address of this server (BASE_URL) is ${own}. Open ${own} instead.`

/** True if browsers omit `Sec-Fetch-Site`, so that a link on another site looks like a person's own request. */
export const hidesCallingPage = (own: string): boolean => {
  const url = new URL(own)
  return url.protocol === "http:" && !isLoopbackHost(hostOf(url))
}
