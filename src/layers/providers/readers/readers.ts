import * as Exa from "./Exa.ts"
import * as Firecrawl from "./Firecrawl.ts"
import * as Jina from "./Jina.ts"
import type { ReaderType } from "./ReaderApi.ts"
import * as Tavily from "./Tavily.ts"

export const readerTypes: Readonly<Record<string, ReaderType>> = {
  firecrawl: Firecrawl.type,
  jina: Jina.type,
  tavily: Tavily.type,
  exa: Exa.type
}

export const readerTypeOf = (name: unknown): ReaderType | undefined =>
  typeof name === "string" && Object.hasOwn(readerTypes, name) ? readerTypes[name] : undefined
