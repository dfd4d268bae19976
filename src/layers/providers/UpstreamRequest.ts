import { Redacted } from "effect"

/** A request to an upstream as it is sent. It holds secrets and the query, so it is neither logged nor traced. */
export interface UpstreamRequest {
  readonly method: "GET" | "POST"
  /** The address without its query. */
  readonly url: string
  /** The query of the address, encoded; empty when there is none. */
  readonly parameters: string
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

type Parameters = Readonly<Record<string, string | number | Redacted.Redacted | undefined>>
type Headers = UpstreamRequest["headers"]

/** Parameters that are undefined are left out. */
export const get = (url: string, parameters: Parameters, headers: Headers = {}): UpstreamRequest => {
  const encoded = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) encoded.append(name, Redacted.isRedacted(value) ? Redacted.value(value) : String(value))
  }
  return { method: "GET", url, parameters: encoded.toString(), headers, body: null }
}

/** A POST with a body of JSON. */
export const post = (url: string, body: unknown, headers: Headers = {}): UpstreamRequest => ({
  method: "POST",
  url,
  parameters: "",
  headers: { ...headers, "content-type": "application/json" },
  body: JSON.stringify(body)
})
