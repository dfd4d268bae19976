import { bulkBody, type Draft, searchQuery } from "./draft.ts"

/** Code samples for a draft. They read the API key from the environment, so they contain no secret. */

export const languages = ["curl", "typescript", "python", "agents"] as const
export type Language = (typeof languages)[number]

export interface Snippet {
  readonly title: string
  readonly text: string
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const placeholder = (expression: string): string => `\${${expression}}`

const lines = (...parts: ReadonlyArray<string>): string => parts.join("\n")

const curl = (draft: Draft, origin: string): string => {
  const start =
    draft.mode === "single" ? `curl --get ${quoted(`${origin}/v1/query`)}` : `curl ${quoted(`${origin}/v1/bulk`)}`
  const data =
    draft.mode === "single"
      ? Object.entries(searchQuery(draft)).map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`)
      : [`-H ${quoted("Content-Type: application/json")}`, `--data ${quoted(JSON.stringify(bulkBody(draft), null, 2))}`]
  return [start, '-H "Authorization: Bearer $QUARRY_API_KEY"', ...data].join(" \\\n  ")
}

// JSON without true, false, and null is valid in both TypeScript and Python.
const literal = (value: object, indent: number): string => JSON.stringify(value, null, indent)

const typescriptKey = `\`Bearer ${placeholder("process.env.QUARRY_API_KEY")}\``
const typescriptCheck = `if (!response.ok) throw new Error(\`${placeholder("response.status")}: ${placeholder("await response.text()")}\`)`

const typescript = (draft: Draft, origin: string): string =>
  draft.mode === "single"
    ? lines(
        `const parameters = new URLSearchParams(${literal(searchQuery(draft), 2)})`,
        `const response = await fetch(\`${origin}/v1/query?${placeholder("parameters")}\`, {`,
        `  headers: { authorization: ${typescriptKey} }`,
        "})",
        typescriptCheck,
        "const { results } = await response.json()",
        "for (const { position, title, url } of results.organic) console.log(position, title, url)"
      )
    : lines(
        `const batch = ${literal(bulkBody(draft), 2)}`,
        `const response = await fetch("${origin}/v1/bulk", {`,
        '  method: "POST",',
        "  headers: {",
        `    authorization: ${typescriptKey},`,
        '    "content-type": "application/json"',
        "  },",
        "  body: JSON.stringify(batch)",
        "})",
        typescriptCheck,
        "const { results } = await response.json()",
        'for (const row of results) console.log(row.status === "ok" ? row.results.organic : row.message)'
      )

const pythonKey = "f\"Bearer {os.environ['QUARRY_API_KEY']}\""

const python = (draft: Draft, origin: string): string =>
  draft.mode === "single"
    ? lines(
        "import json, os, urllib.parse, urllib.request",
        "",
        `parameters = urllib.parse.urlencode(${literal(searchQuery(draft), 4)})`,
        "request = urllib.request.Request(",
        `    f"${origin}/v1/query?{parameters}",`,
        `    headers={"Authorization": ${pythonKey}},`,
        ")",
        "with urllib.request.urlopen(request, timeout=30) as response:",
        '    for result in json.load(response)["results"]["organic"]:',
        '        print(result["position"], result["title"], result["url"])'
      )
    : lines(
        "import json, os, urllib.request",
        "",
        `batch = ${literal(bulkBody(draft), 4)}`,
        "request = urllib.request.Request(",
        `    "${origin}/v1/bulk",`,
        "    data=json.dumps(batch).encode(),",
        "    headers={",
        `        "Authorization": ${pythonKey},`,
        '        "Content-Type": "application/json",',
        "    },",
        ")",
        "with urllib.request.urlopen(request, timeout=75) as response:",
        '    for row in json.load(response)["results"]:',
        '        print(row["results"]["organic"] if row["status"] == "ok" else row["message"])'
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

/** Query parameters are text, but MCP tools take numbers. */
const toolArguments = ({ num, page, ...rest }: Readonly<Record<string, string>>): object => ({
  ...rest,
  ...(page === undefined ? {} : { page: Number(page) }),
  ...(num === undefined ? {} : { num: Number(num) })
})

const toolCall = (draft: Draft): string =>
  draft.mode === "single"
    ? literal({ name: "web_search", arguments: toolArguments(searchQuery(draft)) }, 2)
    : literal({ name: "bulk_search", arguments: bulkBody(draft) }, 2)

export const snippetsOf = (draft: Draft, language: Language, origin: string): ReadonlyArray<Snippet> => {
  switch (language) {
    case "curl":
      return [{ title: "Shell", text: curl(draft, origin) }]
    case "typescript":
      return [{ title: "TypeScript", text: typescript(draft, origin) }]
    case "python":
      return [{ title: "Python, standard library", text: python(draft, origin) }]
    case "agents":
      return [
        { title: "MCP server (.mcp.json)", text: server(origin) },
        { title: "The same search as a tool call", text: toolCall(draft) }
      ]
  }
}
