import { createHash } from "node:crypto"
import { stringify } from "yaml"

/*
 * The part of Helm's templates that deploy/helm uses: `if` and `range` with `end`, paths, the data of a secret in the
 * cluster, pipelines of the functions below, and the trimming of white space. Anything else throws, so that a template
 * cannot be rendered in another way than Helm would.
 */

type Values = Readonly<Record<string, unknown>>

/** The data of secrets in the cluster, by name. */
export type Secrets = Readonly<Record<string, Values>>

interface Scope {
  readonly root: Values
  readonly secrets: Secrets
  /** The value of `.`. */
  readonly dot: unknown
  readonly variables: ReadonlyMap<string, unknown>
}

type Token = { readonly text: string } | { readonly action: string }

const isObject = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Splits a template into text and actions, and trims what `{{-` and `-}}` trim. */
const tokensOf = (template: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  let rest = template
  for (;;) {
    const match = /\{\{(-?)\s*([\s\S]*?)\s*(-?)\}\}/.exec(rest)
    if (match === null) return [...tokens, { text: rest }]
    const [whole, left, action = "", right] = match
    const text = rest.slice(0, match.index)
    tokens.push({ text: left === "-" ? text.trimEnd() : text }, { action })
    const after = rest.slice(match.index + whole.length)
    rest = right === "-" ? after.trimStart() : after
  }
}

const pathOf = (path: string, { dot, root, variables }: Scope): unknown => {
  if (path.startsWith("$")) return variables.get(path) ?? fail(`no variable ${path}`)
  if (path === ".") return dot
  let value: unknown = root
  for (const name of path.slice(1).split(".")) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return fail(`no value at ${path}`)
    value = value[name]
  }
  return value
}

const fail = (message: string): never => {
  throw new Error(`The chart cannot be rendered: ${message}.`)
}

/** JSON with sorted keys, as Go writes a map. */
const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_key, inner) => (isObject(inner) ? Object.fromEntries(Object.entries(inner).sort()) : inner))

const functions: Readonly<Record<string, (value: unknown, argument: string, scope: Scope) => unknown>> = {
  quote: (value) => JSON.stringify(String(value)),
  toYaml: (value) => stringify(value).trimEnd(),
  toJson: (value) => sortedJson(value),
  sha256sum: (value) => createHash("sha256").update(String(value)).digest("hex"),
  default: (value, argument, scope) => (value === "" || value === undefined ? termOf(argument, scope) : value),
  nindent: (value, argument) => `\n${String(value).replaceAll(/^(?=.)/gm, " ".repeat(Number(argument)))}`
}

const termOf = (term: string, scope: Scope): unknown =>
  /^[.$]/.test(term) ? pathOf(term, scope) : fail(`unknown term ${term}`)

const secretData = /^\(lookup "v1" "Secret" \.Release\.Namespace (\S+)\)\.data$/

const startOf = (first: string, scope: Scope): unknown => {
  const secret = secretData.exec(first)?.[1]
  if (secret !== undefined) return scope.secrets[String(termOf(secret, scope))] ?? null
  const [name = "", argument] = first.split(/\s+/)
  return argument === undefined ? termOf(name, scope) : call(name, termOf(argument, scope), "", scope)
}

const evaluate = (pipeline: string, scope: Scope): unknown => {
  const [first = "", ...others] = pipeline.split(/\s*\|\s*/)
  return others.reduce(
    (value: unknown, step) => {
      const [called = "", given = ""] = step.split(/\s+/)
      return call(called, value, given, scope)
    },
    startOf(first, scope)
  )
}

const call = (name: string, value: unknown, argument: string, scope: Scope): unknown =>
  (functions[name] ?? fail(`unknown function ${name}`))(value, argument, scope)

/** The index of the `end` that belongs to the block that starts at `from`. */
const endOf = (tokens: ReadonlyArray<Token>, from: number): number => {
  let depth = 0
  for (let index = from; index < tokens.length; index++) {
    const token = tokens[index]
    const action = token !== undefined && "action" in token ? token.action : ""
    if (/^(?:if|range)\b/.test(action)) depth++
    if (action === "end" && --depth === 0) return index
  }
  return fail("a block has no end")
}

const range = (action: string, body: ReadonlyArray<Token>, scope: Scope): string => {
  const [, key, value, path = ""] = /^range (?:(\$\w+), (\$\w+) := )?(\S+)$/.exec(action) ?? []
  const list = pathOf(path, scope)
  const entries = Array.isArray(list)
    ? list.map((item, index) => [index, item] as const)
    : Object.entries(list ?? {}).sort()
  return entries
    .map(([name, item]) => {
      const variables = new Map(scope.variables)
      if (key !== undefined && value !== undefined) variables.set(key, name).set(value, item)
      return renderTokens(body, { ...scope, dot: item, variables })
    })
    .join("")
}

const renderTokens = (tokens: ReadonlyArray<Token>, scope: Scope): string => {
  let text = ""
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]
    if (token === undefined) continue
    if ("text" in token) {
      text += token.text
      continue
    }
    const { action } = token
    if (!/^(?:if|range)\b/.test(action)) {
      text += String(evaluate(action, scope))
      continue
    }
    const end = endOf(tokens, index)
    const body = tokens.slice(index + 1, end)
    if (action.startsWith("range")) text += range(action, body, scope)
    else if (pathOf(action.slice("if ".length), scope) === true) text += renderTokens(body, scope)
    index = end
  }
  return text
}

export const render = (template: string, root: Values, secrets: Secrets = {}): string =>
  renderTokens(tokensOf(template), { root, secrets, dot: root, variables: new Map() })
