import { soldPlans } from "../../domain/billing/Purchase.ts"
import {
  plans as names,
  type Plan,
  type PlanOffer,
  type PlanTable,
  requestsPerMinute
} from "../../domain/credits/Plan.ts"
import { maxBulkRows } from "../../domain/search/BulkRequest.ts"
import { type Html, html } from "../html/html.ts"

/** The introduction to the API, before the reference: what somebody needs to know before the first call. */

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
  ) => html`<p><a href="/dashboard/sign-up">Create an account</a>: it starts with free searches. Make an <a href="/dashboard/keys">API key</a>, which is shown once, and keep it out of your code:</p>
${shell(
  "The first search",
  `export QUARRY_API_KEY=sk_live_…
curl -H "Authorization: Bearer $QUARRY_API_KEY" '${origin}/v1/query?query=http+caching'`
)}<p>The answer has the results in <code>results.organic</code>, the best first. The <a href="/dashboard/playground">playground</a> makes the call in your browser and shows the code for it. Each search is in the <a href="/dashboard/log">log</a> afterwards.</p>
<p>A key that begins with <code>sk_test_</code> is for tests and spends credits too. Never put a key into a page or an app that you give to others.</p>
`
}

const failures: Chapter = {
  id: "handling-errors",
  title: "When a call fails",
  body: () => html`<p>Branch on <code>error</code>, never on <code>message</code>, and log <code>request_id</code>: with it the operator finds the request.</p>
<ul>
<li><code>400</code> and <code>404</code>: the call itself is wrong. Sent again it fails again.</li>
<li><code>401</code>: the credential is unknown, revoked, or not taken by this operation.</li>
<li><code>402</code>: the credits are spent. The body says when the quota renews.</li>
<li><code>429</code>: wait for the seconds in <code>Retry-After</code>, then try again.</li>
<li><code>502</code> and <code>504</code>: the search was run and its provider failed. It costs one credit. Trying again may help.</li>
<li><code>500</code>: our fault. Nothing was charged.</li>
</ul>
`
}

const count = (value: number): string => value.toLocaleString("en-US")

const money = (cents: number): string => `$${(cents / 100).toFixed(2)}`

const quotaText = (plan: Plan, quota: number | undefined): string => {
  if (quota === undefined) return "as many searches as agreed"
  return plan === "trial" ? `${count(quota)} searches, once` : `${count(quota)} searches a month`
}

/** A plan as this deployment sells it (R75). */
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
  ) => html`<p>Each key has its own limit of requests in any 60 seconds. Every response says what is left of it in <code>X-RateLimit-Remaining</code>, and when the oldest request leaves the window in <code>X-RateLimit-Reset</code>. A request over the limit is 429 and does not count.</p>
<p>A search costs one credit, from the quota of the plan first and from packs after that. <code>X-Credits-Used</code> says what a response has cost, and <code>X-Quota-Remaining</code> and <code>X-Credits-Balance</code> what is left. A request that ends before its search runs costs nothing.</p>
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
  ) => html`<p>One request runs up to ${String(maxBulkRows)} searches, inside 60 seconds. A row is a text, or an object with options of its own. The rows of the answer have the order of the request, and each has its own <code>status</code>: one that fails does not fail the others.</p>
${shell(
  "Two searches",
  `curl ${origin}/v1/bulk \\
  -H "Authorization: Bearer $QUARRY_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"queries": ["http caching", {"query": "etag", "num": 5}]}'`
)}<p>A batch needs a credit for each valid row before it begins. Rows that were not started in time are not charged.</p>
`
}

const agents: Chapter = {
  id: "agents",
  title: "Agents",
  body: (
    origin
  ) => html`<p>Agents and editors that speak the Model Context Protocol search with the tools at <code>${origin}/mcp</code>. With a key they send it as above. Without one they open this site, where you sign in and allow them; you find them under <a href="/dashboard/apps">connected apps</a>, and end them there.</p>
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
