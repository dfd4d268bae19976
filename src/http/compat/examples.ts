import type { OpenWebUiAnswer, OpenWebUiRequest } from "./OpenWebUiGroup.ts"
import type { PerplexityAnswer, PerplexityRequest } from "./PerplexityGroup.ts"
import type { SearxngAnswer } from "./SearxngGroup.ts"
import type { TavilyAnswer, TavilyRequest } from "./TavilyGroup.ts"

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

export const compatRequests = {
  compatTavily: { query, max_results: 5, country: "germany" } satisfies TavilyRequest,
  compatOpenWebUi: { query, count: 5 } satisfies OpenWebUiRequest,
  compatPerplexity: { query, max_results: 5 } satisfies PerplexityRequest
}

export const compatResponses = {
  compatSearxng: searxng,
  compatSearxngForm: searxng,
  compatTavily: tavily,
  compatOpenWebUi: openWebUi,
  compatPerplexity: perplexity
}
