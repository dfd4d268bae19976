import { type Html, html } from "../../domain/html.ts"
import { type DocumentSchema, type Field, nameOf } from "./document.ts"

const maxValuesShown = 12

const join = (parts: ReadonlyArray<Html>, between: Html | string): Html =>
  html`${parts.map((part, i) => (i === 0 ? part : html`${between}${part}`))}`

export const schemaLink = (name: string): Html => html`<a href="#schema-${name}">${name}</a>`

export const typeOf = (schema: DocumentSchema): Html => {
  const name = nameOf(schema)
  if (name !== undefined) return schemaLink(name)
  if (schema.anyOf !== undefined) return join(schema.anyOf.map(typeOf), " or ")
  if (schema.type === "array") return html`list of ${typeOf(schema.items ?? {})}`
  return html`${schema.type ?? "any value"}${schema.format === undefined ? "" : ` (${schema.format})`}`
}

const rangeOf = (minimum: number | undefined, maximum: number | undefined, unit: string): string | undefined => {
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}${unit}`
  if (maximum !== undefined) return `at most ${maximum}${unit}`
  return minimum === undefined ? undefined : `at least ${minimum}${unit}`
}

const code = (text: string): Html => html`<code>${text}</code>`

const valuesOf = (values: ReadonlyArray<unknown>): Html => {
  const list = join(
    values.map((value) => code(String(value))),
    " "
  )
  return values.length <= maxValuesShown
    ? html`<p class="rule">${values.length === 1 ? "Always" : "One of"} ${list}</p>`
    : html`<details class="rule"><summary>One of ${String(values.length)} values</summary><p>${list}</p></details>`
}

const rulesOf = (schema: DocumentSchema): Html => {
  const { maxItems, maximum, maxLength, minItems, minimum, minLength, pattern } = schema
  const ranges = [
    rangeOf(minimum, maximum, ""),
    rangeOf(minLength, maxLength, " characters"),
    rangeOf(minItems, maxItems, " entries")
  ].filter((range) => range !== undefined)
  const rules = [
    ...ranges.map((range) => html`${range}`),
    ...(pattern === undefined ? [] : [html`matches ${code(pattern)}`]),
    ...(schema.default === undefined ? [] : [html`default ${code(String(schema.default))}`])
  ]
  return html`${rules.length === 0 ? undefined : html`<p class="rule">${join(rules, " · ")}</p>`}${
    schema.enum === undefined ? undefined : valuesOf(schema.enum)
  }`
}

export interface TableField extends Field {
  readonly description?: string | undefined
  readonly place?: string
}

const descriptionOf = ({ anyOf, description }: DocumentSchema): string | undefined =>
  description ?? anyOf?.[0]?.description

const pathHtml = (path: string): Html =>
  join(
    path.split(".").map((name) => html`${name}`),
    html`.<wbr>`
  )

const rowOf = ({ description, path, place, required, schema }: TableField, isRequest: boolean): Html => {
  const text = description ?? descriptionOf(schema)
  return html`<tr><th scope="row"><code>${pathHtml(path)}</code><span class="type">${typeOf(schema)}${
    place === undefined ? undefined : html` · in ${place}`
  }</span>${isRequest && required ? html`<span class="flag">required</span>` : undefined}</th><td>${
    text === undefined ? undefined : html`<p>${text}</p>`
  }${rulesOf(schema)}</td></tr>
`
}

export const fieldTable = (caption: string, fields: ReadonlyArray<TableField>, isRequest: boolean): Html =>
  html`<table>
<caption>${caption}</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Description</th></tr></thead>
<tbody>
${fields.map((field) => rowOf(field, isRequest))}</tbody>
</table>`
