/** The services whose request and answer Quarry takes and gives under `/compat/<name>` (R43). */
export const compatShapes = ["searxng", "tavily", "openwebui", "perplexity"] as const

export type CompatShape = (typeof compatShapes)[number]
