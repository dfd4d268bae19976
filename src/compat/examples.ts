import type { PageResult } from "../domain/pages/PageBody.ts"
import type { ReadPages } from "./PageForm.ts"
import type { CompatResults } from "./SearchForm.ts"

// Examples of the document. Each service's adapter turns these into its own format, so that they stay true.

const requestId = "0f8fad5b-d9cb-469f-a165-70867728950e"

export const exampleAddress = "https://www.example.org/guides/http-caching"

const title = "HTTP caching"

const text = "How browsers and proxies decide what to keep, and for how long."

export const exampleResults: CompatResults = {
  id: "qry_5b1f8c0e9d7a46f2a3c4e6b8d0f21357",
  requestId,
  query: "http caching",
  results: [{ position: 1, title, url: exampleAddress, domain: "example.org", snippet: text }],
  durationMs: 420
}

export const examplePage: PageResult = {
  id: "pag_7c1e5a90d3b84f26a1c9e4d7b0f28365",
  url: exampleAddress,
  final_url: exampleAddress,
  title,
  description: null,
  author: null,
  site_name: null,
  published: null,
  language: "en",
  media_type: "text/html",
  format: "markdown",
  content: text,
  start: 0,
  characters: text.length,
  truncated: false,
  fetched_at: "2026-03-14T09:26:53.589Z"
}

export const examplePages: ReadPages = { rows: [{ status: "ok", ...examplePage }], requestId, durationMs: 420 }
