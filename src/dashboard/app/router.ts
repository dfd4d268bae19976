import { signal } from "@preact/signals"
import { queryText } from "../api/client.ts"
import type { Query } from "../api/routes.ts"

export const home = "/dashboard"

export interface Place {
  readonly path: string
  readonly query: URLSearchParams
}

const read = (): Place => ({ path: location.pathname.replace(/\/+$/, ""), query: new URLSearchParams(location.search) })

export const place = signal<Place>(read())

/** Counts page changes; changes of the query alone do not count. */
export const visit = signal(0)

interface NavigateOptions {
  readonly replace?: boolean
}

const update = (): void => {
  const next = read()
  if (next.path !== place.value.path) visit.value += 1
  place.value = next
}

export const navigate = (address: string, { replace = false }: NavigateOptions = {}): void => {
  if (replace) history.replaceState(null, "", address)
  else history.pushState(null, "", address)
  update()
}

export const setQuery = (changes: Query, options: NavigateOptions = { replace: true }): void => {
  const query = Object.fromEntries(place.value.query)
  navigate(place.value.path + queryText({ ...query, ...changes }), options)
}

/** The path of an untrusted URL if it is inside the dashboard, otherwise the home page. */
export const ownPlace = (address: string | null): string => {
  const url = URL.parse(address ?? "", location.origin)
  const isInside = url?.origin === location.origin && (url.pathname === home || url.pathname.startsWith(`${home}/`))
  return url !== null && isInside ? url.pathname + url.search : home
}

const isPlainClick = (event: MouseEvent): boolean =>
  event.button === 0 && !event.defaultPrevented && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)

const followLink = (event: MouseEvent): void => {
  const link = event.target instanceof Element ? event.target.closest("a") : null
  if (link === null || !isPlainClick(event) || link.target !== "" || link.hasAttribute("download")) return
  const { hash, origin, pathname, search } = link
  if (origin !== location.origin || hash !== "" || !(pathname === home || pathname.startsWith(`${home}/`))) return
  event.preventDefault()
  navigate(pathname + search)
}

export const startRouter = (): void => {
  if (location.pathname !== place.value.path) history.replaceState(null, "", place.value.path + location.search)
  addEventListener("popstate", update)
  document.addEventListener("click", followLink)
}
