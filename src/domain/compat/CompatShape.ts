/** Services whose API Quarry serves under `/compat/<name>` (R43). */
export const compatShapes = [
  "searxng",
  "tavily",
  "openwebui",
  "perplexity",
  "brave",
  "serper",
  "exa",
  "firecrawl",
  "jina"
] as const

export type CompatShape = (typeof compatShapes)[number]
