import type { OpenWebUiAnswer, OpenWebUiRequest } from "./OpenWebUiGroup.ts"
import type { ExaContentsAnswer, ExaContentsRequest } from "./pages/ExaContentsGroup.ts"
import type { FirecrawlAnswer, FirecrawlRequest } from "./pages/FirecrawlGroup.ts"
import type { JinaAnswer } from "./pages/JinaGroup.ts"
import type { OpenWebUiLoadAnswer, OpenWebUiLoadRequest } from "./pages/OpenWebUiLoadGroup.ts"
import type { TavilyExtractAnswer, TavilyExtractRequest } from "./pages/TavilyExtractGroup.ts"
import type { SearxngAnswer } from "./SearxngGroup.ts"
import type { TavilyAnswer, TavilyRequest } from "./TavilyGroup.ts"
import type { BraveAnswer } from "./web/BraveGroup.ts"
import type { ExaAnswer, ExaRequest } from "./web/ExaGroup.ts"
import type { PerplexityAnswer, PerplexityRequest } from "./web/PerplexityGroup.ts"
import type { SerperAnswer, SerperRequest } from "./web/SerperGroup.ts"

const query = "http caching"
const title = "HTTP caching"
const url = "https://www.example.org/guides/http-caching"
const text = "How browsers and proxies decide what to keep, and for how long."

const searxng: SearxngAnswer = {
  query,
  number_of_results: 1,
  results: [
    {
      title,
      url,
      content: text,
      engine: "quarry",
      engines: ["quarry"],
      category: "general",
      positions: [1],
      score: 1,
      parsed_url: ["https", "www.example.org", "/guides/http-caching", "", "", ""],
      template: "default.html",
      publishedDate: null,
      thumbnail: ""
    }
  ],
  answers: [],
  corrections: [],
  infoboxes: [],
  suggestions: [],
  unresponsive_engines: []
}

const tavily: TavilyAnswer = {
  query,
  answer: null,
  images: [],
  results: [{ title, url, content: text, score: 1, raw_content: null }],
  response_time: 0.42,
  request_id: "0f8fad5b-d9cb-469f-a165-70867728950e"
}

const openWebUi: OpenWebUiAnswer = [{ link: url, title, snippet: text }]

const perplexity: PerplexityAnswer = {
  id: "qry_5b1f8c0e9d7a46f2a3c4e6b8d0f21357",
  results: [{ title, url, snippet: text, date: null, last_updated: null }]
}

const brave: BraveAnswer = {
  type: "search",
  query: { original: query, more_results_available: false },
  mixed: { type: "mixed", main: [{ type: "web", index: 0, all: false }], top: [], side: [] },
  web: {
    type: "search",
    results: [
      {
        type: "search_result",
        title,
        url,
        description: text,
        is_source_local: false,
        is_source_both: false,
        family_friendly: true,
        language: "",
        profile: { name: "example.org", url, long_name: "www.example.org" },
        meta_url: {
          scheme: "https",
          netloc: "www.example.org",
          hostname: "www.example.org",
          path: "/guides/http-caching"
        }
      }
    ],
    family_friendly: true
  }
}

const serper: SerperAnswer = {
  searchParameters: { q: query, num: 5, type: "search", engine: "quarry" },
  organic: [{ title, link: url, snippet: text, position: 1 }],
  credits: 1
}

const exa: ExaAnswer = {
  requestId: "0f8fad5b-d9cb-469f-a165-70867728950e",
  resolvedSearchType: "keyword",
  results: [{ id: url, title, url, publishedDate: null, author: null }],
  searchTime: 412
}

const tavilyExtract: TavilyExtractAnswer = {
  results: [{ url, raw_content: text, images: [] }],
  failed_results: [],
  response_time: 0.42,
  request_id: "0f8fad5b-d9cb-469f-a165-70867728950e"
}

const openWebUiLoad: OpenWebUiLoadAnswer = [{ page_content: text, metadata: { source: url, title } }]

const exaContents: ExaContentsAnswer = {
  requestId: "0f8fad5b-d9cb-469f-a165-70867728950e",
  results: [{ id: url, url, title, author: null, publishedDate: null, text }],
  statuses: [{ id: url, status: "success" }]
}

const firecrawl: FirecrawlAnswer = {
  success: true,
  data: {
    markdown: text,
    metadata: { title, language: "en", sourceURL: url, url, statusCode: 200, contentType: "text/html" }
  }
}

const jina: JinaAnswer = { code: 200, status: 20000, data: { title, description: "", url, content: text } }

export const requestExamples: Readonly<Record<string, unknown>> = {
  compatSerper: { q: query, num: 5 } satisfies SerperRequest,
  compatExa: { query, numResults: 5 } satisfies ExaRequest,
  compatTavily: { query, max_results: 5, country: "germany" } satisfies TavilyRequest,
  compatOpenWebUi: { query, count: 5 } satisfies OpenWebUiRequest,
  compatPerplexity: { query, max_results: 5 } satisfies PerplexityRequest,
  compatTavilyExtract: { urls: [url] } satisfies TavilyExtractRequest,
  compatOpenWebUiLoad: { urls: [url] } satisfies OpenWebUiLoadRequest,
  compatExaContents: { urls: [url] } satisfies ExaContentsRequest,
  compatFirecrawlV1: { url, formats: ["markdown"] } satisfies FirecrawlRequest,
  compatFirecrawlV2: { url, formats: ["markdown"] } satisfies FirecrawlRequest
}

export const responseExamples: Readonly<Record<string, unknown>> = {
  compatSearxng: searxng,
  compatSearxngForm: searxng,
  compatTavily: tavily,
  compatOpenWebUi: openWebUi,
  compatPerplexity: perplexity,
  compatBrave: brave,
  compatSerper: serper,
  compatExa: exa,
  compatTavilyExtract: tavilyExtract,
  compatOpenWebUiLoad: openWebUiLoad,
  compatExaContents: exaContents,
  compatFirecrawlV1: firecrawl,
  compatFirecrawlV2: firecrawl,
  compatJina: jina
}
