import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

/*
 * A fake SearXNG in its own process. Returns the same ten rows for every search: immediately, or after 200 ms for a
 * query with `wait200`. The response is built in advance, so it costs almost nothing. The first line of output is the
 * port.
 */

const subjects = [
  ["https://docs.example.org/guide/getting-started", "Getting started &amp; first steps"],
  ["https://www.example.com/articles/2025/how-it-works?utm_source=feed", "How it <b>works</b>, explained in depth"],
  ["https://en.wikipedia.org/wiki/Search_engine", "Search engine - Wikipedia"],
  ["https://blog.example.net/posts/a-practical-introduction", "A practical introduction"],
  ["https://github.com/example/example", "example/example: the reference implementation"],
  ["https://stackoverflow.com/questions/1234567/why-is-this-slow", "Why is this slow? - Stack Overflow"],
  ["https://news.example.co.uk/technology/9876543", "What changed this year, and what did not"],
  ["https://shop.example.de/produkte/42?ref=serp", "Produkte und Preise im Vergleich"],
  ["https://www.example.edu/~someone/papers/ranking.pdf", "[PDF] On the ranking of documents"],
  ["https://forum.example.io/t/tips-and-tricks/314", "Tips and tricks from people who use it every day"]
] as const

const snippet =
  "A snippet as engines give it: about two lines of text that say what the page is about, with a date, a name or two " +
  "and some <em>words</em> of the query in it, cut off where it became too long …"

const results = subjects.map(([url, title], index) => ({
  url,
  title,
  content: snippet,
  engine: "google",
  engines: ["google"],
  template: "default.html",
  parsed_url: [url],
  positions: [index + 1],
  score: 1 / (index + 1),
  category: "general",
  publishedDate: null
}))

const body = Buffer.from(
  JSON.stringify({ query: "", number_of_results: 0, results, answers: [], suggestions: [], unresponsive_engines: [] })
)
const headers = { "content-type": "application/json", "content-length": body.length }

const server = createServer({ keepAliveTimeout: 120_000 }, async (request, response) => {
  const waitMs = Number(/wait(\d+)/.exec(request.url ?? "")?.[1] ?? 0)
  if (waitMs > 0) await sleep(waitMs)
  response.writeHead(200, headers)
  response.end(body)
})

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : "")
})
