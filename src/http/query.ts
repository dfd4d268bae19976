import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { undecodable } from "../domain/fields.ts"

type Parameters = Record<string, string | Array<string>>

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Node hands over each byte of a target as a character. */
const decode = (written: string): string => {
  try {
    return decodeURIComponent(utf8.decode(Buffer.from(written.replaceAll("+", " "), "latin1")))
  } catch {
    return undecodable
  }
}

/** The parameters of a query string, with `undecodable` for each value that is not UTF-8, percent-encoded or not. */
export const parseQuery = (query: string): Parameters => {
  const parameters: Parameters = Object.create(null)
  for (const pair of query.split("&")) {
    const end = `${pair}=`.indexOf("=")
    const name = decode(pair.slice(0, end))
    const value = decode(pair.slice(end + 1))
    const before = parameters[name]
    if (name !== "") parameters[name] = before === undefined ? value : [before, value].flat()
  }
  return parameters
}

/** Whether the router, which keeps what it cannot decode as it was written, reads a query string as it was meant. */
const isRead = (query: string): boolean => {
  if (!/^[\0-\x7f]*$/.test(query)) return false
  try {
    decodeURIComponent(query)
    return true
  } catch {
    return false
  }
}

/** Runs a handler with parameters of which none reads as something else than what was sent (R4). */
export const withDecodedQuery = <A, E, R>(handler: Effect.Effect<A, E, R>) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) => {
    const query = url.slice(`${url}?`.indexOf("?") + 1)
    if (query === "" || isRead(query)) return handler
    return Effect.provideService(handler, HttpServerRequest.ParsedSearchParams, parseQuery(query))
  })
