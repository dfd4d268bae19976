import { Result } from "effect"

/** Names that a description may use in braces (R86). */
export const placeholders = [
  "query",
  "num",
  "page",
  "offset",
  "geo",
  "GEO",
  "language",
  "locale",
  "safe",
  "after",
  "before",
  "days",
  "domains",
  "excludedDomains",
  "apiKey"
] as const
export type Placeholder = (typeof placeholders)[number]

export type Scalar = string | number | boolean
export type Value = Scalar | ReadonlyArray<string>

/** `variable` is an environment variable. Its value is a secret, and braces in it are text. */
export type Part =
  | { readonly _tag: "text"; readonly text: string }
  | { readonly _tag: "placeholder"; readonly name: Placeholder }
  | { readonly _tag: "variable"; readonly name: string }

export type Template = ReadonlyArray<Part>

/** Returns the value of a part, or undefined if the search has none. */
export type ValueFor = (part: Exclude<Part, { readonly _tag: "text" }>) => Value | undefined

/** A variable, or one word in braces. Other braces are text. */
const slot = /\$\{(?<variable>[^{}]*)\}|\{\s*(?<placeholder>[\w.-]*)\s*\}/g

const isPlaceholder = (name: string): name is Placeholder => placeholders.some((placeholder) => placeholder === name)

/** Fails with the word in braces that is not a placeholder. */
export const parseTemplate = (source: string): Result.Result<Template, string> => {
  const parts: Array<Part> = []
  const addText = (text: string) => {
    if (text !== "") parts.push({ _tag: "text", text })
  }
  let end = 0
  for (const match of source.matchAll(slot)) {
    addText(source.slice(end, match.index))
    end = match.index + match[0].length
    const { placeholder, variable } = match.groups ?? {}
    if (variable !== undefined) parts.push({ _tag: "variable", name: variable })
    else if (placeholder !== undefined && isPlaceholder(placeholder) && match[0] === `{${placeholder}}`)
      parts.push({ _tag: "placeholder", name: placeholder })
    else return Result.fail(match[0])
  }
  addText(source.slice(end))
  return Result.succeed(parts)
}

export const textOf = (value: Value): string => (typeof value === "object" ? value.join(",") : String(value))

/**
 * A template that is exactly one placeholder keeps the type of its value. Undefined if any part has no value: the
 * parameter is then left out.
 */
export const fill = (template: Template, valueFor: ValueFor): Value | undefined => {
  const [only] = template
  if (template.length === 1 && only !== undefined && only._tag !== "text") return valueFor(only)
  let text = ""
  for (const part of template) {
    const value = part._tag === "text" ? part.text : valueFor(part)
    if (value === undefined) return undefined
    text += textOf(value)
  }
  return text
}

/** An address whose placeholders are percent-encoded. Undefined if one has no value, or the path cannot carry it. */
export const fillAddress = (template: Template, valueFor: ValueFor): string | undefined => {
  let address = ""
  for (const part of template) {
    const value = part._tag === "text" ? part.text : valueFor(part)
    if (value === undefined) return undefined
    address += part._tag === "placeholder" ? encodeURIComponent(textOf(value)) : textOf(value)
  }
  // URL parsers resolve these segments, so a query of two dots would change the address.
  return address.split("/").some((segment) => segment === "." || segment === "..") ? undefined : address
}

export type Json = null | Scalar | ReadonlyArray<Json> | { readonly [name: string]: Json }

/** JSON whose strings are templates. */
export type JsonTemplate =
  | { readonly _tag: "constant"; readonly value: null | number | boolean }
  | { readonly _tag: "template"; readonly template: Template }
  | { readonly _tag: "list"; readonly items: ReadonlyArray<JsonTemplate> }
  | { readonly _tag: "object"; readonly members: ReadonlyArray<readonly [string, JsonTemplate]> }

const present = <A>(value: A | undefined): ReadonlyArray<A> => (value === undefined ? [] : [value])

/** Leaves out members without a value, and with them lists and objects of which nothing is left. */
export const fillJson = (json: JsonTemplate, valueFor: ValueFor): Json | undefined => {
  switch (json._tag) {
    case "constant":
      return json.value
    case "template":
      return fill(json.template, valueFor)
    case "list": {
      const items = json.items.flatMap((item) => present(fillJson(item, valueFor)))
      return items.length === 0 && json.items.length > 0 ? undefined : items
    }
    case "object": {
      const members = json.members.flatMap(([name, member]) => {
        const value = fillJson(member, valueFor)
        return value === undefined ? [] : [[name, value] as const]
      })
      return members.length === 0 && json.members.length > 0 ? undefined : Object.fromEntries(members)
    }
  }
}

export const templatesIn = (json: JsonTemplate): ReadonlyArray<Template> => {
  switch (json._tag) {
    case "constant":
      return []
    case "template":
      return [json.template]
    case "list":
      return json.items.flatMap(templatesIn)
    case "object":
      return json.members.flatMap(([_, member]) => templatesIn(member))
  }
}
