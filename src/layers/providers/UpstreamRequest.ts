import { Redacted } from "effect"

/** Contains secrets and the query, so it is neither logged nor traced. */
export interface UpstreamRequest {
  readonly method: "GET" | "POST" | "PUT"
  readonly url: string
  /** The encoded query string, empty if there is none. */
  readonly parameters: string
  /** Header names are lowercase. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

type Parameters = Readonly<Record<string, string | number | Redacted.Redacted | undefined>>
type Headers = UpstreamRequest["headers"]

/** Leaves out parameters that are undefined. */
export const get = (url: string, parameters: Parameters, headers: Headers = {}): UpstreamRequest => {
  const encoded = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) encoded.append(name, Redacted.isRedacted(value) ? Redacted.value(value) : String(value))
  }
  return { method: "GET", url, parameters: encoded.toString(), headers, body: null }
}

export const post = (url: string, body: unknown, headers: Headers = {}): UpstreamRequest => ({
  method: "POST",
  url,
  parameters: "",
  headers: { ...headers, "content-type": "application/json" },
  body: JSON.stringify(body)
})
