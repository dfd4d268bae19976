import { type Html, html } from "../../domain/html.ts"
import { addressOf, curlOf } from "./curl.ts"
import { type Document, type Endpoint, fieldsOf, nameOf, type Response, resolve } from "./document.ts"
import { fieldTable, typeOf } from "./schemas.ts"

const json = "application/json"

const credentialsOf = ({ security }: Endpoint): Html => {
  const links = security
    .map((requirement) => Object.keys(requirement))
    .map(
      (names) =>
        html`<li>${names.map((name, i) => html`${i === 0 ? "" : " with "}<a href="#credential-${name}">${name}</a>`)}</li>
`
    )
  return html`<ul class="credentials" aria-label="Credentials accepted">
${links}</ul>`
}

const parametersOf = ({ parameters = [] }: Endpoint): Html | undefined =>
  parameters.length === 0
    ? undefined
    : fieldTable(
        "Parameters",
        parameters.map(({ description, in: place, name, required, schema }) => ({
          path: name,
          place,
          description,
          required: required ?? false,
          schema
        })),
        true
      )

const bodyOf = (document: Document, { requestBody }: Endpoint): Html | undefined => {
  const schema = requestBody?.content?.[json]?.schema
  return schema === undefined ? undefined : fieldTable("Body, as JSON", fieldsOf(resolve(document, schema)), true)
}

const headerLink = (name: string): Html => html`<a href="#header-${name}"><code>${name}</code></a>`

const contentOf = (response: Response): Html => {
  const contents = Object.entries(response.content ?? {})
  if (contents.length === 0) return html`<p>No body.</p>`
  return html`${contents.map(([type, { schema }]) => {
    const hasName = nameOf(schema) !== undefined || schema.anyOf !== undefined
    return html`<p>${hasName ? typeOf(schema) : (schema.description ?? type)}${
      type === json ? undefined : html` <span class="type">${type}</span>`
    }</p>`
  })}`
}

const responseRow = ([status, response]: readonly [string, Response]): Html => {
  const headers = Object.keys(response.headers ?? {})
  return html`<tr><th scope="row"><span class="status s${status.slice(0, 1)}">${status}</span></th><td>${contentOf(response)}${
    headers.length === 0
      ? undefined
      : html`<details class="rule"><summary>${String(headers.length)} ${headers.length === 1 ? "header" : "headers"}</summary><p>${headers.map(
          (name) => html`${headerLink(name)} `
        )}</p></details>`
  }</td></tr>
`
}

const responsesOf = ({ responses }: Endpoint): Html => html`<table class="responses">
<caption>Responses</caption>
<thead><tr><th scope="col">Status</th><th scope="col">Body and headers</th></tr></thead>
<tbody>
${Object.entries(responses).map(responseRow)}</tbody>
</table>`

/** Attributes from which the page's script writes the request in other languages and runs it. */
const requestAttributes = (endpoint: Endpoint): Html => {
  const body = endpoint.requestBody?.content?.[json]?.example
  const accepts = (name: RegExp): boolean =>
    endpoint.security.some((requirement) => Object.keys(requirement).some((key) => name.test(key)))
  const hasKey = accepts(/key|bearer/i)
  const spendsCredits = endpoint.tags.some((tag) => tag === "Search" || tag === "Pages")
  return html` data-method="${endpoint.method}" data-path="${addressOf(endpoint)}" data-key="${String(hasKey)}" data-session="${String(
    accepts(/session|cookie/i)
  )}" data-cost="${String(spendsCredits)}"${body === undefined ? undefined : html` data-body="${JSON.stringify(body)}"`}`
}

const sample = (caption: string, text: string, attributes?: Html): Html => html`<figure${attributes}>
<figcaption>${caption}</figcaption>
<pre tabindex="0"><code>${text}</code></pre>
</figure>`

const samplesOf = (document: Document, endpoint: Endpoint, origin: string): Html => {
  const [status, response] = Object.entries(endpoint.responses)[0] ?? ["", undefined]
  const example = response?.content?.[json]?.example
  return html`<div class="samples">
${sample("Request", curlOf(endpoint, document.components.securitySchemes, origin), requestAttributes(endpoint))}
${example === undefined ? undefined : sample(`Response, ${status}`, JSON.stringify(example, null, 2))}
</div>`
}

export const operationHtml = (document: Document, endpoint: Endpoint, origin: string): Html => html`<article id="${
  endpoint.operationId
}" aria-labelledby="${endpoint.operationId}-title">
<h3 id="${endpoint.operationId}-title"><a href="#${endpoint.operationId}">${endpoint.summary}</a></h3>
<p class="call"><span class="method">${endpoint.method}</span> <code>${endpoint.path}</code></p>
<div class="columns">
<div>
<p>${endpoint.description}</p>
${credentialsOf(endpoint)}
${parametersOf(endpoint)}
${bodyOf(document, endpoint)}
${responsesOf(endpoint)}
</div>
${samplesOf(document, endpoint, origin)}
</div>
</article>
`
