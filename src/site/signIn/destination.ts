import { Effect } from "effect"
import { consentPath, failurePath, signInPath } from "../../domain/accounts/OAuth.ts"
import { Deployment } from "../../services/operations/Deployment.ts"
import type { AppRequest, Destination } from "../html/pages.ts"
import { canonicalQuery, readAuthorizationRequest } from "./authorizationRequest.ts"
import { home, queryText, readForm, readNext } from "./browser.ts"

/** The library stores the path in a cookie at twice its length; browsers limit cookies to 4096 bytes. */
export const maxCarriedCharacters = 1_600

export type Folder = Destination["folder"]

export const destinationOfApp = (app: AppRequest): Destination => ({
  folder: "/oauth",
  query: app.query,
  app,
  origin: undefined,
  path: `${signInPath}?${app.query}`
})

const isInDashboard = (path: string): boolean => /^\/dashboard(?:[/?#]|$)/.test(path)

const destinationInDashboard = Effect.fnUntraced(function* (query: string) {
  const { origin } = yield* Deployment
  const next = yield* readNext(new URLSearchParams(query).get("next"))
  const path = isInDashboard(next) ? next : home
  const passedOn = path === home ? "" : String(new URLSearchParams({ next: path }))
  const destination: Destination = { folder: "/dashboard", query: passedOn, app: undefined, origin, path }
  return destination
})

const readDestination = (folder: Folder, query: string) =>
  folder === "/dashboard"
    ? destinationInDashboard(query)
    : Effect.map(readAuthorizationRequest(canonicalQuery(query)), ({ request }) => destinationOfApp(request))

/** The destination in the address of a page. */
export const requestedDestination = (folder: Folder) =>
  Effect.flatMap(queryText, (query) => readDestination(folder, query))

/** The destination and the fields of a submitted form. */
export const submittedDestination = Effect.fnUntraced(function* (folder: Folder) {
  const form = yield* readForm
  return { destination: yield* readDestination(folder, form.get("request") ?? ""), form }
})

/** The paths to which an identity provider leads back. */
export const pathsAfterProvider = ({ app, path }: Destination, provider: string) =>
  app === undefined
    ? {
        returnPath: path.length > maxCarriedCharacters ? home : path,
        failurePath: `${home}/sign-in?${new URLSearchParams({ failed: provider })}`
      }
    : { returnPath: `${consentPath}?${app.query}`, failurePath }
