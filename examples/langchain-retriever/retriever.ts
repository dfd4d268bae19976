import { Document } from "@langchain/core/documents"
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers"
import { createQuarry, type Quarry } from "@quarry/client"

export interface QuarryRetrieverInput extends BaseRetrieverInput {
  readonly baseUrl: string
  readonly apiKey: string
  /** How many documents a question gets, from 1 to 20. */
  readonly count?: number
}

/** Gives a chain the results of a web search as documents, each with its address. */
export class QuarryRetriever extends BaseRetriever {
  lc_namespace = ["quarry", "retrievers"]
  private readonly quarry: Quarry
  private readonly count: number

  constructor({ apiKey, baseUrl, count = 5, ...rest }: QuarryRetrieverInput) {
    super(rest)
    this.quarry = createQuarry({ baseUrl, apiKey })
    this.count = count
  }

  override async _getRelevantDocuments(query: string): Promise<Array<Document>> {
    const { results } = await this.quarry.query({ query, num: this.count, source: "langchain" })
    return results.organic.map(
      ({ position, snippet, title, url }) =>
        new Document({ pageContent: `${title}\n${snippet}`, metadata: { source: url, position } })
    )
  }
}
