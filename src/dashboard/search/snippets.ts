import { bulkBody, type Draft, isManyPages, pageQuery, pagesBody, searchInput, searchQuery } from "./draft.ts"

/** Samples read the API key from the environment, so they contain no secret. */

export const languages = [
  { value: "curl", text: "curl" },
  { value: "typescript", text: "TypeScript" },
  { value: "python", text: "Python" },
  { value: "go", text: "Go" },
  { value: "php", text: "PHP" },
  { value: "agents", text: "Agents" }
] as const
export type Language = (typeof languages)[number]["value"]

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

const literal = (value: object, indent: number): string => JSON.stringify(value, null, indent)

/** The input of a client: one page, or a batch of pages or searches. */
const inputOf = (draft: Draft): Readonly<Record<string, unknown>> => {
  if (draft.mode === "single") return searchInput(draft)
  if (draft.mode === "bulk") return bulkBody(draft)
  if (isManyPages(draft)) return pagesBody(draft)
  const { urls, ...options } = pagesBody(draft)
  return { url: urls[0], ...options }
}

const methodOf = (draft: Draft): "query" | "bulk" | "page" | "pages" =>
  draft.mode === "single" ? "query" : draft.mode === "bulk" ? "bulk" : isManyPages(draft) ? "pages" : "page"

const typescriptUses = {
  query: [
    "const { results } = await ",
    "for (const { position, title, url } of results.organic) console.log(position, title, url)"
  ],
  bulk: [
    "const { results } = await ",
    'for (const row of results) console.log(row.status === "ok" ? row.results.organic : row.message)'
  ],
  page: ["const { content, title } = await ", "console.log(title, content)"],
  pages: [
    "const { results } = await ",
    'for (const row of results) console.log(row.status === "ok" ? row.content : row.message)'
  ]
} as const

const typescript = (draft: Draft, origin: string): string => {
  const method = methodOf(draft)
  const [before, after] = typescriptUses[method]
  return lines(
    'import { createQuarry } from "@quarry/client"',
    "",
    `const quarry = createQuarry({ baseUrl: "${origin}", apiKey: process.env.QUARRY_API_KEY })`,
    `${before}quarry.${method}(${literal(inputOf(draft), 2)})`,
    after
  )
}

const pythonUses = {
  query: ["for it in result.organic:", "    print(it.position, it.title, it.url)"],
  bulk: [
    "for row in result.results:",
    '    print([it.url for it in row.organic] if row.status == "ok" else row.message)'
  ],
  page: ["print(result.title, result.content)"],
  pages: ["for row in result.results:", '    print(row.content if row.status == "ok" else row.message)']
} as const

const python = (draft: Draft, origin: string): string => {
  const method = methodOf(draft)
  // The first argument has no name.
  const [first, ...options] = Object.entries(inputOf(draft)).map(
    ([name, value]) => [name, value === true ? "True" : JSON.stringify(value)] as const
  )
  const values = [first?.[1], ...options.map(([name, value]) => `${name}=${value}`)].join(", ")
  return lines(
    "import quarry",
    "",
    "# The client reads QUARRY_API_KEY from the environment.",
    `with quarry.Client(base_url="${origin}") as client:`,
    `    result = client.${method}(${values})`,
    ...pythonUses[method].map((line) => `    ${line}`)
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

/** For programs in which a person signs in. */
const signingIn = (origin: string): ReadonlyArray<Snippet> => [
  { title: "Codex", text: `codex mcp add quarry --url ${origin}/mcp\ncodex mcp login quarry` },
  { title: "Gemini CLI", text: `gemini mcp add --transport http quarry ${origin}/mcp` },
  {
    title: "VS Code (.vscode/mcp.json)",
    text: literal({ servers: { quarry: { type: "http", url: `${origin}/mcp` } } }, 2)
  }
]

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
      return [{ title: "TypeScript, @quarry/client", text: typescript(draft, origin) }]
    case "python":
      return [{ title: "Python, quarry-client", text: python(draft, origin) }]
    case "go":
      return [{ title: "Go", text: go(callOf(draft), origin) }]
    case "php":
      return [{ title: "PHP", text: php(callOf(draft), origin) }]
    case "agents":
      return [
        { title: "Claude Code", text: claude(origin) },
        ...signingIn(origin),
        { title: "Cursor and others (mcp.json)", text: server(origin) },
        { title: "The same request as a tool call", text: toolCall(draft) }
      ]
  }
}
