import { soldPlans } from "../../domain/billing/Purchase.ts"
import {
  plans as names,
  type Plan,
  type PlanOffer,
  type PlanTable,
  requestsPerMinute
} from "../../domain/credits/Plan.ts"
import { type Html, html } from "../../domain/html.ts"
import { maxBulkRows } from "../../domain/search/BulkRequest.ts"

interface Chapter {
  readonly id: string
  readonly title: string
  readonly body: (origin: string, plans: PlanTable) => Html
}

const shell = (title: string, text: string): Html =>
  html`<figure><figcaption>${title}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>
`

const start: Chapter = {
  id: "getting-started",
  title: "Getting started",
  body: (
    origin
  ) => html`<p><a href="/dashboard/sign-up">Create an account</a>, which starts with free searches. Create an <a href="/dashboard/keys">API key</a>, which is shown only once, and keep it out of your code:</p>
${shell(
  "The first search",
  `export QUARRY_API_KEY=sk_live_…
curl -H "Authorization: Bearer $QUARRY_API_KEY" '${origin}/v1/query?query=http+caching'`
)}<p>The response has the results in <code>results.organic</code>, best first. The <a href="/dashboard/playground">playground</a> makes the call in your browser and shows the code. Afterwards, each search is in the <a href="/dashboard/log">log</a>.</p>
<p>A key that begins with <code>sk_test_</code> is for tests, but spends credits too. Never put a key into a web page or an app that you publish.</p>
`
}

const failures: Chapter = {
  id: "handling-errors",
  title: "When a call fails",
  body: () => html`<p>Branch on <code>error</code>, never on <code>message</code>, and log <code>request_id</code>, with which the operator can find the request.</p>
<ul>
<li><code>400</code> and <code>404</code>: the request is wrong. If you send it again, it fails again.</li>
<li><code>401</code>: the credential is unknown, revoked, or not accepted by this operation.</li>
<li><code>402</code>: you have too few credits. The body says when the quota renews.</li>
<li><code>429</code>: wait for the number of seconds in <code>Retry-After</code>, then try again.</li>
<li><code>502</code> and <code>504</code>: the search ran and its provider failed, which costs one credit. Trying again may help.</li>
<li><code>500</code>: an error in the service. Nothing was charged.</li>
</ul>
`
}

const count = (value: number): string => value.toLocaleString("en-US")

const money = (cents: number): string => `$${(cents / 100).toFixed(2)}`

const quotaText = (plan: Plan, quota: number | undefined): string => {
  if (quota === undefined) return "as many searches as agreed"
  return plan === "trial" ? `${count(quota)} searches, once` : `${count(quota)} searches a month`
}

const planItem = (plan: Plan, { concurrency, name, packCentsPer1000, priceCents, quota }: PlanOffer): Html => {
  const isSold = soldPlans.some((sold) => sold === plan)
  const terms = [
    quotaText(plan, quota),
    `${count(requestsPerMinute(concurrency))} requests a minute`,
    ...(isSold ? [`${money(priceCents)} a month`] : []),
    ...(isSold && packCentsPer1000 > 0 ? [`packs at ${money(packCentsPer1000)} for 1,000 credits`] : [])
  ]
  return html`<li><strong>${name}</strong>: ${terms.join(", ")}.</li>
`
}

const limits: Chapter = {
  id: "limits",
  title: "Limits and credits",
  body: (
    _,
    plans
  ) => html`<p>Each key has a separate limit of requests in any 60 seconds. In every response, <code>X-RateLimit-Remaining</code> has the number of requests left, and <code>X-RateLimit-Reset</code> the time at which the oldest request leaves the window. Requests over the limit get 429 and do not count.</p>
<p>A search costs one credit, which comes from the plan's quota first and then from packs. <code>X-Credits-Used</code> has the cost of a response, and <code>X-Quota-Remaining</code> and <code>X-Credits-Balance</code> the credits that are left. A request that fails before its search runs costs nothing.</p>
<p>The plans:</p>
<ul>
${names.map((plan) => planItem(plan, plans[plan]))}</ul>
`
}

const batches: Chapter = {
  id: "batches",
  title: "Batches",
  body: (
    origin
  ) => html`<p>One request runs up to ${String(maxBulkRows)} searches within 60 seconds. A row is a query, or an object with a query and options. The response has the rows in the same order, each with its own <code>status</code>. A row that fails does not affect the others.</p>
${shell(
  "Two searches",
  `curl ${origin}/v1/bulk \\
  -H "Authorization: Bearer $QUARRY_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"queries": ["http caching", {"query": "etag", "num": 5}]}'`
)}<p>A batch needs a credit for each valid row before it starts. Rows that did not start in time are not charged.</p>
`
}

const agents: Chapter = {
  id: "agents",
  title: "Agents",
  body: (
    origin
  ) => html`<p>Agents and editors that support the Model Context Protocol can search with the tools at <code>${origin}/mcp</code>. They can send a key as above. Without a key, they open this site, where you sign in and allow them. You can disconnect them under <a href="/dashboard/apps">connected apps</a>.</p>
${shell("Configuration of a client", `{ "mcpServers": { "quarry": { "type": "http", "url": "${origin}/mcp" } } }`)}`
}

const chapters: ReadonlyArray<Chapter> = [start, failures, limits, batches, agents]

export const guideLinks: ReadonlyArray<Html> = chapters.map(
  ({ id, title }) => html`<li><a href="#${id}">${title}</a></li>
`
)

export const guide = (origin: string, plans: PlanTable): ReadonlyArray<Html> =>
  chapters.map(
    ({ body, id, title }) => html`<section id="${id}" class="guide" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
${body(origin, plans)}</section>
`
  )
