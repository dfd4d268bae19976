import type { Endpoint, SecurityScheme } from "./document.ts"

/** A call of an operation as people type it into a shell. */

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const addressOf = ({ parameters = [], path }: Endpoint): string => {
  const wanted = parameters.filter(({ example }) => example !== undefined)
  const filled = wanted.reduce(
    (text, { example, in: place, name }) => (place === "path" ? text.replace(`{${name}}`, String(example)) : text),
    path
  )
  const query = new URLSearchParams(
    wanted
      .filter((parameter) => parameter.in === "query")
      .map(({ example, name }): [string, string] => [name, String(example)])
  )
  return query.size === 0 ? filled : `${filled}?${query}`
}

/** Headers with the credential that an operation takes first. In double quotes: the shell fills the secret in. */
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
  return [`-H "Cookie: ${cookie}=$QUARRY_SESSION"`, ...(method === "GET" ? [] : [`-H ${quoted(`Origin: ${origin}`)}`])]
}

export const curlOf = (
  endpoint: Endpoint,
  schemes: Readonly<Record<string, SecurityScheme>>,
  origin: string
): string => {
  const body = endpoint.requestBody?.content?.["application/json"]?.example
  const parts = [
    `curl ${endpoint.method === "GET" ? "" : `-X ${endpoint.method} `}${quoted(`${origin}${addressOf(endpoint)}`)}`,
    ...credentialOf(endpoint, schemes, origin),
    ...(body === undefined
      ? []
      : [`-H ${quoted("Content-Type: application/json")}`, `-d ${quoted(JSON.stringify(body))}`])
  ]
  return parts.join(" \\\n  ")
}
