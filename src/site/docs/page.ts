import type { PlanTable } from "../../domain/credits/Plan.ts"
import { type Html, html } from "../../domain/html.ts"
import { targets } from "../../domain/search/Target.ts"
import type { TargetLabels } from "../../domain/search/TargetLabels.ts"
import { mark } from "../html/pages.ts"
import { type Document, endpointsOf, errorsOf, fieldsOf, type SecurityScheme } from "./document.ts"
import { guide, guideLinks } from "./guide.ts"
import { operationHtml } from "./operation.ts"
import { fieldTable, schemaLink, typeOf } from "./schemas.ts"

/** The prefix avoids a clash with an operation of the same name. */
const groupId = (name: string): string => `group-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`

const navigation = (document: Document): Html => html`<nav aria-label="Contents">
<details>
<summary>Contents</summary>
<ul>
<li><a href="#introduction">Introduction</a></li>
${guideLinks}<li><a href="#credentials">Credentials</a></li>
<li><a href="#errors">Errors</a></li>
<li><a href="#headers">Headers</a></li>
${document.tags.map(
  ({ name }) => html`<li><a href="#${groupId(name)}">${name}</a>
<ul>
${endpointsOf(document)
  .filter(({ tags }) => tags.includes(name))
  .map(
    ({ method, operationId, summary }) =>
      html`<li><a href="#${operationId}"><span>${summary}</span> <span class="method">${method}</span></a></li>
`
  )}</ul>
</li>
`
)}<li><a href="#schemas">Schemas</a></li>
</ul>
</details>
</nav>`

const targetList = (labels: TargetLabels): Html | undefined => {
  const named = targets.filter((target) => labels[target] !== undefined)
  if (named.length === 0) return undefined
  return html`<dt>Targets</dt><dd><ul>
${named.map(
  (
    target
  ) => html`<li><code>${target}</code> ${labels[target]?.name ?? ""}${labels[target]?.about === undefined ? "" : `: ${labels[target]?.about}`}</li>
`
)}</ul></dd>
`
}

const introduction = (
  { info }: Document,
  origin: string,
  labels: TargetLabels
): Html => html`<section id="introduction" aria-labelledby="title">
<h1 id="title">${info.title} API</h1>
<p class="lead">${info.description}</p>
<dl>
<dt>Address</dt><dd><code>${origin}</code></dd>
<dt>Version</dt><dd><code>${info.version}</code>; paths begin with <code>/v1</code></dd>
<dt>Description for programs</dt><dd><a href="/openapi.json">/openapi.json</a>, OpenAPI 3.1</dd>
${targetList(labels)}</dl>
</section>
`

const locationOf = ({ in: place, name, scheme, type }: SecurityScheme): Html =>
  type === "http"
    ? html`<code>Authorization: ${scheme === "bearer" ? "Bearer" : (scheme ?? "")} …</code>`
    : html`${place} <code>${name}</code>`

const credentials = ({
  components
}: Document): Html => html`<section id="credentials" aria-labelledby="credentials-title">
<h2 id="credentials-title">Credentials</h2>
<p>Each operation lists the credentials it accepts. Only the first credential of a request is checked.</p>
<table>
<caption>How each credential is sent</caption>
<thead><tr><th scope="col">Credential</th><th scope="col">Description</th></tr></thead>
<tbody>
${Object.entries(components.securitySchemes).map(
  ([name, scheme]) =>
    html`<tr id="credential-${name}"><th scope="row"><code>${name}</code></th><td><p>${scheme.description}</p><p class="rule">${locationOf(scheme)}</p></td></tr>
`
)}</tbody>
</table>
</section>
`

const errors = (document: Document): Html => html`<section id="errors" aria-labelledby="errors-title">
<h2 id="errors-title">Errors</h2>
<p>Every error has a code, a message that may be shown to people, and the request's id. A path that is not listed here, or another method, is <code>404 not_found</code>.</p>
<table class="responses">
<caption>Codes and their statuses</caption>
<thead><tr><th scope="col">Status</th><th scope="col">Code and body</th></tr></thead>
<tbody>
${errorsOf(document).map(
  ([status, code, schema]) =>
    html`<tr><th scope="row"><span class="status s${status.slice(0, 1)}">${status}</span></th><td><p><code>${code}</code> ${schemaLink(schema)}</p><p class="rule">${document.components.schemas[schema]?.description ?? ""}</p></td></tr>
`
)}</tbody>
</table>
</section>
`

const headers = ({ components }: Document): Html => html`<section id="headers" aria-labelledby="headers-title">
<h2 id="headers-title">Headers</h2>
<p>Headers of responses; each operation lists those of its own.</p>
<table>
<caption>Response headers</caption>
<thead><tr><th scope="col">Header</th><th scope="col">Description</th></tr></thead>
<tbody>
${Object.entries(components.headers).map(
  ([name, { description, schema }]) =>
    html`<tr id="header-${name}"><th scope="row"><code>${name}</code><span class="type">${typeOf(schema)}</span></th><td><p>${description}</p></td></tr>
`
)}</tbody>
</table>
</section>
`

const groups = (document: Document, origin: string): ReadonlyArray<Html> =>
  document.tags.map(({ description, name }) => {
    const id = groupId(name)
    const operations = endpointsOf(document).filter(({ tags }) => tags.includes(name))
    return html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${name}</h2>
<p>${description}.</p>
${operations.map((endpoint) => operationHtml(document, endpoint, origin))}</section>
`
  })

const schemas = ({ components }: Document): Html => html`<section id="schemas" aria-labelledby="schemas-title">
<h2 id="schemas-title">Schemas</h2>
<p>Responses may gain fields within a version. Ignore fields that you do not know.</p>
${Object.entries(components.schemas)
  .sort(([a], [b]) => a.localeCompare(b))
  .map(([name, schema]) => {
    const fields = fieldsOf(schema)
    const rows = fields.length > 0 ? fields : [{ path: name, required: false, schema }]
    return html`<article id="schema-${name}" aria-labelledby="schema-${name}-title">
<h3 id="schema-${name}-title"><a href="#schema-${name}">${name}</a></h3>
${fields.length > 0 && schema.description !== undefined ? html`<p>${schema.description}</p>` : undefined}
${fieldTable(`Fields of ${name}`, rows, false)}
</article>
`
  })}</section>
`

export interface PagePaths {
  readonly style: string
  readonly script: string
}

export const pageOf = (
  document: Document,
  { script, style }: PagePaths,
  plans: PlanTable,
  labels: TargetLabels = {}
): string => {
  const origin = document.servers[0]?.url ?? ""
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${document.info.description}">
<title>${document.info.title} API reference</title>
<link rel="icon" type="image/svg+xml" href="/favicon.ico">
<link rel="stylesheet" href="${style}">
<script type="module" src="${script}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the reference</a>
<header>
<a class="brand" href="/docs">${mark}<span>${document.info.title}</span></a>
<span class="place">API reference</span>
<a class="download" href="/openapi.json">OpenAPI</a>
<a class="home" href="/dashboard">Dashboard</a>
</header>
<div class="layout">
${navigation(document)}
<main id="content" tabindex="-1">
${introduction(document, origin, labels)}${guide(origin, plans)}${credentials(document)}${errors(document)}${headers(document)}${groups(document, origin)}${schemas(document)}</main>
</div>
</body>
</html>
`.text
}
