import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { undecodable, undecodableValue } from "../domain/fields.ts"

type Parameters = Record<string, string | Array<string>>

const decode = (written: string): string => {
  try {
    return decodeURIComponent(written.replaceAll("+", " "))
  } catch {
    return undecodable
  }
}

const toValue = (value: string): string | Array<string> => (value === undecodable ? [...undecodableValue] : value)

/** The parameters of a query string, with `undecodableValue` for each that is no percent-encoded UTF-8. */
export const parseQuery = (query: string): Parameters => {
  const parameters: Parameters = Object.create(null)
  for (const pair of query.split("&")) {
    const end = `${pair}=`.indexOf("=")
    const name = decode(pair.slice(0, end))
    const value = decode(pair.slice(end + 1))
    const before = parameters[name]
    if (pair !== "") parameters[name] = before === undefined ? toValue(value) : [before, value].flat()
  }
  return parameters
}

/** Runs a handler with parameters of which none reads as something else than what was sent (R4). */
export const withDecodedQuery = <A, E, R>(handler: Effect.Effect<A, E, R>) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) => {
    // The router keeps a value that it cannot decode as it was written. A whole query decodes where each value does.
    if (!url.includes("%") || decode(url) !== undecodable) return handler
    const parameters = parseQuery(url.slice(url.indexOf("?") + 1))
    return Effect.provideService(handler, HttpServerRequest.ParsedSearchParams, parameters)
  })
