import type { Endpoint, SecurityScheme } from "./document.ts"

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

export const addressOf = ({ parameters = [], path }: Endpoint): string => {
  const examples = parameters.filter(({ example }) => example !== undefined)
  const address = examples.reduce(
    (text, { example, in: place, name }) => (place === "path" ? text.replace(`{${name}}`, String(example)) : text),
    path
  )
  const query = new URLSearchParams(
    examples
      .filter((parameter) => parameter.in === "query")
      .map(({ example, name }): [string, string] => [name, String(example)])
  )
  return query.size === 0 ? address : `${address}?${query}`
}

/** Adds the operation's first credential, in double quotes so that the shell expands the variable. */
const credentialOf = (
  { method, security }: Endpoint,
  schemes: Readonly<Record<string, SecurityScheme>>,
  origin: string
): ReadonlyArray<string> => {
  const [name = ""] = Object.keys(security[0] ?? {})
  const scheme = schemes[name]
  if (scheme === undefined) return []
  if (scheme.type === "http") return ['-H "Authorization: Bearer $QUARRY_API_KEY"']
  const cookie = `${origin.startsWith("https:") ? "__Secure-" : ""}${scheme.name}`
  return [`-H "Cookie: ${cookie}=$QUARRY_SESSION"`, ...(method === "GET" ? [] : [`-H ${quote(`Origin: ${origin}`)}`])]
}

export const curlOf = (
  endpoint: Endpoint,
  schemes: Readonly<Record<string, SecurityScheme>>,
  origin: string
): string => {
  const body = endpoint.requestBody?.content?.["application/json"]?.example
  const parts = [
    `curl ${endpoint.method === "GET" ? "" : `-X ${endpoint.method} `}${quote(`${origin}${addressOf(endpoint)}`)}`,
    ...credentialOf(endpoint, schemes, origin),
    ...(body === undefined
      ? []
      : [`-H ${quote("Content-Type: application/json")}`, `-d ${quote(JSON.stringify(body))}`])
  ]
  return parts.join(" \\\n  ")
}
