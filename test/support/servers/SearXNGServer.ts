/** A row of the JSON API. */
export const row = (n: number, engine = "google") => ({
  url: `https://example.test/${n}`,
  title: `Title ${n}`,
  content: `Snippet ${n}`,
  engine,
  engines: [engine],
  positions: [n],
  score: 1 / n,
  category: "general",
  template: "default.html",
  parsed_url: ["https", "example.test", `/${n}`, "", "", ""]
})

export const rows = (first: number, last: number, engine?: string) =>
  Array.from({ length: last - first + 1 }, (_, index) => row(first + index, engine))

/** A complete response of the JSON API. Tests override only the relevant fields. */
export const answer = (fields: Record<string, unknown>) => ({
  query: "q",
  results: [],
  answers: [],
  corrections: [],
  infoboxes: [],
  suggestions: [],
  unresponsive_engines: [],
  ...fields
})
