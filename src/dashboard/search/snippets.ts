import { bulkBody, type Draft, isManyPages, pageQuery, pagesBody, searchInput, searchQuery } from "./draft.ts"

/** Samples read the API key from the environment, so they contain no secret. */

export const languages = ["curl", "typescript", "python", "go", "php", "agents"] as const
export type Language = (typeof languages)[number]

export interface Snippet {
  readonly title: string
  readonly text: string
}

interface Call {
  readonly path: string
  readonly parameters?: Readonly<Record<string, string>>
  readonly body?: object
}

const callOf = (draft: Draft): Call => {
  if (draft.mode === "single") return { path: "/v1/query", parameters: searchQuery(draft) }
  if (draft.mode === "bulk") return { path: "/v1/bulk", body: bulkBody(draft) }
  return isManyPages(draft)
    ? { path: "/v1/pages", body: pagesBody(draft) }
    : { path: "/v1/page", parameters: pageQuery(draft) }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const placeholder = (expression: string): string => `\${${expression}}`

const lines = (...parts: ReadonlyArray<string>): string => parts.join("\n")

const curl = ({ body, parameters, path }: Call, origin: string): string => {
  const start = body === undefined ? `curl --get ${quoted(origin + path)}` : `curl ${quoted(origin + path)}`
  const data =
    body === undefined
      ? Object.entries(parameters ?? {}).map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`)
      : [`-H ${quoted("Content-Type: application/json")}`, `--data ${quoted(JSON.stringify(body, null, 2))}`]
  return [start, '-H "Authorization: Bearer $QUARRY_API_KEY"', ...data].join(" \\\n  ")
}

// JSON without true, false, and null is valid in both TypeScript and Python.
const literal = (value: object, indent: number): string => JSON.stringify(value, null, indent)

const pythonLiteral = (value: object): string =>
  literal(value, 4).replaceAll(
    /^(\s*"\w+": )(true|false)(,?)$/gm,
    (_, name: string, flag: string, comma: string) => `${name}${flag === "true" ? "True" : "False"}${comma}`
  )

const typescriptKey = `\`Bearer ${placeholder("process.env.QUARRY_API_KEY")}\``

const typescriptPage = ({ body, parameters, path }: Call, origin: string): string =>
  lines(
    body === undefined
      ? `const parameters = new URLSearchParams(${literal(parameters ?? {}, 2)})`
      : `const body = ${literal(body, 2)}`,
    body === undefined
      ? `const response = await fetch(\`${origin}${path}?${placeholder("parameters")}\`, {`
      : `const response = await fetch("${origin}${path}", {`,
    ...(body === undefined
      ? [`  headers: { authorization: ${typescriptKey} }`]
      : [
          '  method: "POST",',
          `  headers: { authorization: ${typescriptKey}, "content-type": "application/json" },`,
          "  body: JSON.stringify(body)"
        ]),
    "})",
    `if (!response.ok) throw new Error(\`${placeholder("response.status")}: ${placeholder("await response.text()")}\`)`,
    body === undefined
      ? "const { content, title } = await response.json()"
      : "const { results } = await response.json()",
    body === undefined
      ? "console.log(title, content)"
      : "for (const row of results) console.log(row.content ?? row.message)"
  )

const typescript = (draft: Draft, origin: string): string => {
  if (draft.mode === "page") return typescriptPage(callOf(draft), origin)
  const client = [
    'import { createQuarry } from "@quarry/client"',
    "",
    `const quarry = createQuarry({ baseUrl: "${origin}", apiKey: process.env.QUARRY_API_KEY })`
  ]
  if (draft.mode === "single") {
    return lines(
      ...client,
      `const { results } = await quarry.query(${literal(searchInput(draft), 2)})`,
      "for (const { position, title, url } of results.organic) console.log(position, title, url)"
    )
  }
  const { queries, ...options } = bulkBody(draft)
  const rows = Object.keys(options).length === 0 ? queries : queries.map((query) => ({ query, ...options }))
  return lines(
    ...client,
    `const { results } = await quarry.bulk(${literal(rows, 2)})`,
    'for (const row of results) console.log(row.status === "ok" ? row.results.organic : row.message)'
  )
}

const pythonArguments = (values: object): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(", ")

const pythonPage = ({ body, parameters, path }: Call, origin: string): string =>
  lines(
    "import os",
    "import httpx",
    "",
    `response = httpx.${body === undefined ? "get" : "post"}(`,
    `    "${origin}${path}",`,
    `    ${body === undefined ? `params=${literal(parameters ?? {}, 4)}` : `json=${pythonLiteral(body)}`},`,
    '    headers={"Authorization": f"Bearer {os.environ[\'QUARRY_API_KEY\']}"},',
    "    timeout=75,",
    ")",
    "response.raise_for_status()",
    ...(body === undefined
      ? ['print(response.json()["content"])']
      : ['for row in response.json()["results"]:', '    print(row.get("content", row.get("message")))'])
  )

const python = (draft: Draft, origin: string): string => {
  if (draft.mode === "page") return pythonPage(callOf(draft), origin)
  const client = [
    "import quarry",
    "",
    "# The client reads QUARRY_API_KEY from the environment.",
    `with quarry.Client(base_url="${origin}") as client:`
  ]
  if (draft.mode === "single") {
    const { query, ...options } = searchInput(draft)
    const more = pythonArguments(options)
    return lines(
      ...client,
      `    result = client.query(${JSON.stringify(query)}${more === "" ? "" : `, ${more}`})`,
      "    for it in result.organic:",
      "        print(it.position, it.title, it.url)"
    )
  }
  const { queries, ...options } = bulkBody(draft)
  const more = pythonArguments(options)
  return lines(
    ...client,
    `    batch = client.bulk(${literal(queries, 0)}${more === "" ? "" : `, ${more}`})`,
    "    for row in batch.results:",
    '        print([it.url for it in row.organic] if row.status == "ok" else row.message)'
  )
}

/** JSON's escapes are valid in Go, except those of lone surrogates, which `toWellFormed` replaces. */
const goString = (text: string): string => JSON.stringify(text.toWellFormed())

const go = ({ body, parameters, path }: Call, origin: string): string =>
  lines(
    "package main",
    "",
    "import (",
    ...(body === undefined ? [] : ['\t"bytes"']),
    '\t"fmt"',
    '\t"io"',
    '\t"net/http"',
    ...(body === undefined ? ['\t"net/url"'] : []),
    '\t"os"',
    ")",
    "",
    "func main() {",
    ...(body === undefined
      ? [
          "\tparameters := url.Values{}",
          ...Object.entries(parameters ?? {}).map(
            ([name, value]) => `\tparameters.Set(${goString(name)}, ${goString(value)})`
          ),
          `\trequest, err := http.NewRequest("GET", "${origin}${path}?"+parameters.Encode(), nil)`
        ]
      : [
          `\tbody := []byte(${goString(JSON.stringify(body))})`,
          `\trequest, err := http.NewRequest("POST", "${origin}${path}", bytes.NewReader(body))`
        ]),
    "\tif err != nil {",
    "\t\tpanic(err)",
    "\t}",
    '\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("QUARRY_API_KEY"))',
    ...(body === undefined ? [] : ['\trequest.Header.Set("Content-Type", "application/json")']),
    "\tresponse, err := http.DefaultClient.Do(request)",
    "\tif err != nil {",
    "\t\tpanic(err)",
    "\t}",
    "\tdefer response.Body.Close()",
    "\ttext, err := io.ReadAll(response.Body)",
    "\tif err != nil {",
    "\t\tpanic(err)",
    "\t}",
    "\tfmt.Println(response.Status, string(text))",
    "}"
  )

const phpString = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`

const php = ({ body, parameters, path }: Call, origin: string): string =>
  lines(
    "<?php",
    ...(body === undefined
      ? [
          "$parameters = http_build_query([",
          ...Object.entries(parameters ?? {}).map(([name, value]) => `    ${phpString(name)} => ${phpString(value)},`),
          "]);",
          `$request = curl_init("${origin}${path}?$parameters");`
        ]
      : [
          `$request = curl_init("${origin}${path}");`,
          `curl_setopt($request, CURLOPT_POSTFIELDS, ${phpString(JSON.stringify(body))});`
        ]),
    "curl_setopt($request, CURLOPT_HTTPHEADER, [",
    "    'Authorization: Bearer ' . getenv('QUARRY_API_KEY'),",
    ...(body === undefined ? [] : ["    'Content-Type: application/json',"]),
    "]);",
    "curl_setopt($request, CURLOPT_RETURNTRANSFER, true);",
    "$answer = json_decode(curl_exec($request), true);",
    "print_r($answer);"
  )

const server = (origin: string): string =>
  literal(
    {
      mcpServers: {
        quarry: {
          type: "http",
          url: `${origin}/mcp`,
          headers: { Authorization: `Bearer ${placeholder("QUARRY_API_KEY")}` }
        }
      }
    },
    2
  )

const toolCall = (draft: Draft): string => {
  if (draft.mode === "single") return literal({ name: "web_search", arguments: searchInput(draft) }, 2)
  if (draft.mode === "bulk") return literal({ name: "bulk_search", arguments: bulkBody(draft) }, 2)
  return literal({ name: "read_page", arguments: { url: pageQuery(draft).url } }, 2)
}

const claude = (origin: string): string =>
  `claude mcp add --transport http quarry ${origin}/mcp \\\n  --header "Authorization: Bearer $QUARRY_API_KEY"`

export const snippetsOf = (draft: Draft, language: Language, origin: string): ReadonlyArray<Snippet> => {
  switch (language) {
    case "curl":
      return [{ title: "Shell", text: curl(callOf(draft), origin) }]
    case "typescript":
      return [
        { title: draft.mode === "page" ? "TypeScript" : "TypeScript, @quarry/client", text: typescript(draft, origin) }
      ]
    case "python":
      return [{ title: draft.mode === "page" ? "Python, httpx" : "Python, quarry-client", text: python(draft, origin) }]
    case "go":
      return [{ title: "Go", text: go(callOf(draft), origin) }]
    case "php":
      return [{ title: "PHP", text: php(callOf(draft), origin) }]
    case "agents":
      return [
        { title: "Claude Code", text: claude(origin) },
        { title: "MCP server (.mcp.json)", text: server(origin) },
        { title: "The same request as a tool call", text: toolCall(draft) }
      ]
  }
}
