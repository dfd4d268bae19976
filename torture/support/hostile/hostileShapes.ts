import { gzipSync } from "node:zlib"
import fc from "fast-check"
import { formType, type RandomRequest, type Route, spareHook, spareKey } from "./RandomRequests.ts"
import type { JsonSchema, Schemas } from "./schemaValues.ts"

/** A hostile request that can be made in any size. */
export interface HostileRequest {
  readonly name: string
  /** True for lists of wrong values in list fields, and for repeated fields in forms. */
  readonly isInEveryRun: boolean
  readonly route: Route
  /** Sizes in bytes, each four times the one before. */
  readonly sizes: ReadonlyArray<number>
  readonly of: (bytes: number) => RandomRequest
}

/** For query strings, paths and headers. With its other headers the largest request is just below the limit (R2). */
const headSizes: ReadonlyArray<number> = [3_500, 14_000]

/** For bodies. The largest is just below the limit of 1 MiB. */
const bodySizes: ReadonlyArray<number> = [16_000, 64_000, 256_000, 1_024_000]

/** Repeats a piece of ASCII text up to `bytes`. */
const fill = (bytes: number, piece: string | ((index: number) => string), separator = ""): string => {
  if (typeof piece === "string") {
    const whole = piece + separator
    return whole.repeat(Math.floor((bytes + separator.length) / whole.length)).slice(0, -separator.length || undefined)
  }
  const pieces: Array<string> = []
  for (let length = 0; ; ) {
    const next = piece(pieces.length)
    length += next.length + separator.length
    if (length > bytes + separator.length) return pieces.join(separator)
    pieces.push(next)
  }
}

type Part = readonly [name: string, text: (bytes: number) => string]

const repeated = (name: string, piece: string | ((index: number) => string), separator = ""): Part => [
  name,
  (bytes) => fill(bytes, piece, separator)
]

const queries: ReadonlyArray<Part> = [
  repeated("a parameter repeated", "a", "&"),
  repeated("a parameter with a value repeated", "a=a", "&"),
  repeated("a parameter with broken UTF-8 repeated", "a=%ff", "&"),
  repeated("a parameter with broken escapes repeated", "a=%zz", "&"),
  repeated("distinct parameters", (n) => `a${n}`, "&"),
  repeated("distinct parameters with broken UTF-8", (n) => `a${n}=%ff`, "&"),
  repeated("a prototype's name repeated", "__proto__=a", "&"),
  repeated("brackets in a name", "[a]"),
  repeated("ampersands", "&"),
  repeated("equal signs", "="),
  repeated("question marks", "?"),
  repeated("percent signs", "%"),
  repeated("escaped letters", "%61"),
  ["one long value", (bytes) => `a=${"x".repeat(bytes - 2)}`]
]

/** Values of a documented parameter. */
const values: ReadonlyArray<Part> = [
  repeated("letters", "x"),
  repeated("digits", "9"),
  repeated("words", "ab", "+"),
  repeated("spaces", "%20"),
  repeated("a list", "a", ","),
  repeated("combining accents", "%CC%81"),
  repeated("NUL characters", "%00")
]

const paths: ReadonlyArray<Part> = [
  repeated("path segments", "/a"),
  repeated("slashes", "/"),
  repeated("parent segments", "/.."),
  repeated("escaped parent segments", "/%2e%2e"),
  repeated("path parameters", ";a=b"),
  repeated("one long path segment", "a"),
  repeated("escaped letters in the path", "%61")
]

/** Values of headers. */
const headers: ReadonlyArray<Part> = [
  ["accept", (bytes) => fill(bytes, "text/html;q=0.1", ", ")],
  ["accept", (bytes) => fill(bytes, "*/*;", " ")],
  ["accept-encoding", (bytes) => fill(bytes, "br;q=0", ", ")],
  ["accept-language", (bytes) => fill(bytes, "de-AT;q=0.5", ",")],
  ["authorization", (bytes) => `Bearer ${fill(bytes, "x")}`],
  ["authorization", (bytes) => `Bearer${fill(bytes, " ")}x`],
  ["authorization", (bytes) => `Basic ${fill(bytes, "YTpi")}`],
  ["baggage", (bytes) => fill(bytes, "a=b", ",")],
  ["content-type", (bytes) => `application/json${fill(bytes, ";a=b")}`],
  ["content-type", (bytes) => `application/json${fill(bytes, " ")}x`],
  ["content-type", (bytes) => `multipart/form-data; boundary=${fill(bytes, "a")}`],
  ["cookie", (bytes) => fill(bytes, "a=b", "; ")],
  ["cookie", (bytes) => fill(bytes, "quarry.session_token=x", "; ")],
  ["cookie", (bytes) => fill(bytes, "=", ";")],
  ["cookie", (bytes) => `quarry.session_token=${fill(bytes, "%61")}`],
  ["forwarded", (bytes) => fill(bytes, "for=1.2.3.4", ",")],
  ["idempotency-key", (bytes) => fill(bytes, "a")],
  ["idempotency-key", (bytes) => `"${fill(bytes, "\\")}"`],
  ["idempotency-key", (bytes) => fill(bytes, '"a"', ", ")],
  ["if-none-match", (bytes) => fill(bytes, 'W/"a"', ", ")],
  ["mcp-protocol-version", (bytes) => fill(bytes, "9")],
  ["origin", (bytes) => `http://${fill(bytes, "a.")}`],
  ["range", (bytes) => `bytes=${fill(bytes, "0-1", ",")}`],
  ["sec-fetch-site", (bytes) => fill(bytes, "none", ", ")],
  ["tracestate", (bytes) => fill(bytes, (n) => `a${n}=b`, ",")],
  ["user-agent", (bytes) => fill(bytes, "Mozilla/5.0 (", " ")],
  ["x-api-key", (bytes) => fill(bytes, "x")],
  ["x-demo-origin", (bytes) => fill(bytes, "x")],
  ["x-forwarded-for", (bytes) => fill(bytes, "1.2.3.4", ", ")],
  ["x-forwarded-for", (bytes) => fill(bytes, ":")],
  ["x-marketplace-user", (bytes) => fill(bytes, "x")],
  ["x-request-id", (bytes) => fill(bytes, "0-", "")]
]

/** Repeated headers, and many different ones. */
const floods: ReadonlyArray<readonly [name: string, header: (index: number) => readonly [string, string]]> = [
  ["a header repeated", () => ["a", "b"]],
  ["Authorization repeated", () => ["authorization", "Bearer x"]],
  ["Cookie repeated", () => ["cookie", "quarry.session_token=x"]],
  ["Idempotency-Key repeated", () => ["idempotency-key", "a"]],
  ["distinct headers", (n) => [`a${n}`, "b"]]
]

/** JSON bodies that no route expects. */
const texts: ReadonlyArray<Part> = [
  repeated("unclosed lists", "["),
  ["nested lists", (bytes) => `${"[".repeat(bytes / 2)}${"]".repeat(bytes / 2)}`],
  repeated("unclosed objects", '{"a":'),
  ["nested objects", (bytes) => `${'{"a":'.repeat(bytes / 6)}0${"}".repeat(bytes / 6)}`],
  repeated("spaces", " "),
  repeated("NUL characters", "\u0000"),
  repeated("commas", ","),
  repeated("digits", "9"),
  ["one string", (bytes) => `"${fill(bytes, "x")}"`],
  ["one string of escapes", (bytes) => `"${fill(bytes, "\\ud800")}"`],
  ["a list of numbers", (bytes) => `[${fill(bytes, "0", ",")}]`],
  ["a key repeated", (bytes) => `{${fill(bytes, '"a":0', ",")}}`],
  ["distinct keys", (bytes) => `{${fill(bytes, (n) => `"a${n}":0`, ",")}}`],
  ["a prototype's name repeated", (bytes) => `{${fill(bytes, '"__proto__":{}', ",")}}`]
]

/** Values of one field, as JSON. */
const fieldValues: ReadonlyArray<Part> = [
  ["a long string", (bytes) => `"${fill(bytes, "x")}"`],
  ["words", (bytes) => `"${fill(bytes, "ab ")}"`],
  ["spaces", (bytes) => `"${fill(bytes, " ")}x"`],
  ["escaped halves of characters", (bytes) => `"${fill(bytes, "\\ud800")}"`],
  ["escaped NUL characters", (bytes) => `"${fill(bytes, "\\u0000")}"`],
  ["combining accents", (bytes) => `"${fill(bytes, "\\u0301")}"`],
  ["digits", (bytes) => fill(bytes, "9")],
  ["nested lists", (bytes) => `${"[".repeat(bytes / 2)}${"]".repeat(bytes / 2)}`],
  ["a list of numbers", (bytes) => `[${fill(bytes, "0", ",")}]`],
  ["a list of nulls", (bytes) => `[${fill(bytes, "null", ",")}]`],
  ["a list of empty strings", (bytes) => `[${fill(bytes, '""', ",")}]`],
  ["a list of distinct strings", (bytes) => `[${fill(bytes, (n) => `"${n}"`, ",")}]`],
  ["a list of objects", (bytes) => `[${fill(bytes, "{}", ",")}]`],
  ["a list of objects with wrong fields", (bytes) => `[${fill(bytes, '{"query":0,"target":0,"num":""}', ",")}]`],
  ["a list of lists", (bytes) => `[${fill(bytes, "[]", ",")}]`]
]

const multipart = (bytes: number, part: string): string => `${fill(bytes, `--a\r\n${part}`)}--a--\r\n`

/** Bodies with other content types. */
const typed: ReadonlyArray<readonly [name: string, type: string, body: (bytes: number) => Buffer | string]> = [
  ...queries.map(([name, text]) => [`a form with ${name}`, `${formType}; charset=utf-8`, text] as const),
  ["invalid UTF-8", "application/json", (bytes) => Buffer.alloc(bytes, 0xff)],
  ["UTF-16", "application/json; charset=utf-16", (bytes) => Buffer.from(`"${"x".repeat(bytes / 2)}"`, "utf16le")],
  [
    "many parts",
    "multipart/form-data; boundary=a",
    (bytes) => multipart(bytes, 'Content-Disposition: form-data; name="a"\r\n\r\nx\r\n')
  ],
  ["parts without an end", "multipart/form-data; boundary=a", (bytes) => multipart(bytes, "")],
  ["parts without a boundary", "multipart/form-data", (bytes) => multipart(bytes, "\r\n\r\nx\r\n")],
  ["a part with many headers", "multipart/mixed; boundary=a", (bytes) => `--a\r\n${fill(bytes, "a: b\r\n")}`],
  ["text", "text/plain", (bytes) => fill(bytes, "x")],
  ["an unknown type", "x/y", (bytes) => fill(bytes, "x")],
  ["XML entities", "application/xml", (bytes) => `<!DOCTYPE a [<!ENTITY b "${fill(bytes, "&b;")}">]><a>&b;</a>`]
]

/** JSON-RPC bodies. */
const messages: ReadonlyArray<Part> = [
  ["a batch of pings", (bytes) => `[${fill(bytes, (n) => `{"jsonrpc":"2.0","id":${n},"method":"ping"}`, ",")}]`],
  ["a batch of answers", (bytes) => `[${fill(bytes, (n) => `{"jsonrpc":"2.0","id":${n},"result":{}}`, ",")}]`],
  ["a batch of nothing", (bytes) => `[${fill(bytes, "{}", ",")}]`],
  ["a batch of one long message", (bytes) => `[{"jsonrpc":"2.0","id":1,"method":"${fill(bytes, "x")}"}]`],
  ["a long method", (bytes) => `{"jsonrpc":"2.0","id":1,"method":"${fill(bytes, "x")}"}`],
  ["a long id", (bytes) => `{"jsonrpc":"2.0","id":"${fill(bytes, "x")}","method":"ping"}`],
  ["a long tool", (bytes) => toolCall(`"${fill(bytes, "x")}"`, "{}")],
  ["many arguments", (bytes) => toolCall('"web_search"', `{${fill(bytes, (n) => `"a${n}":0`, ",")}}`)],
  ["a long query", (bytes) => toolCall('"web_search"', `{"query":"${fill(bytes, "ab ")}"}`)],
  ["wrong queries", (bytes) => toolCall('"bulk_search"', `{"queries":[${fill(bytes, "0", ",")}]}`)],
  ["wrong rows", (bytes) => toolCall('"bulk_search"', `{"queries":[${fill(bytes, '{"query":0}', ",")}]}`)]
]

const toolCall = (name: string, args: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${name},"arguments":${args}}}`

const resolved = (schema: JsonSchema, schemas: Schemas): JsonSchema => {
  if (schema.$ref !== undefined) return resolved(schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}, schemas)
  const [first] = schema.anyOf ?? []
  return first === undefined ? schema : resolved(first, schemas)
}

/** Returns the simplest value that a schema allows, so that only the hostile part of a request is wrong. */
const plainValue = (of: JsonSchema, schemas: Schemas): unknown => {
  const schema = resolved(of, schemas)
  if (schema.enum !== undefined) return schema.enum[0]
  switch (schema.type) {
    case "string":
      return schema.pattern === undefined
        ? "effect"
        : fc.sample(fc.stringMatching(new RegExp(schema.pattern)), { seed: 1, numRuns: 1 })[0]
    case "integer":
      return schema.minimum ?? 1
    case "boolean":
      return true
    case "array":
      return [plainValue(schema.items ?? {}, schemas)]
    case "object":
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([name]) => schema.required?.includes(name))
          .map(([name, property]) => [name, plainValue(property, schemas)])
      )
    default:
      return "effect"
  }
}

const plainQuery = ({ parameters }: Route, schemas: Schemas): string =>
  parameters
    .filter((it) => it.in === "query" && it.required === true)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(String(plainValue(schema, schemas)))}`)
    .join("&")

/** Makes a valid request from the description of a route. */
const plainRequest = (route: Route, schemas: Schemas): RandomRequest => {
  const path = route.path.replaceAll(/\{\w+\}/g, route.path.includes("webhooks") ? spareHook : spareKey)
  const query = plainQuery(route, schemas)
  const body = route.body === undefined ? undefined : Buffer.from(JSON.stringify(plainValue(route.body, schemas)))
  return {
    listener: route.listener,
    method: route.method,
    path: query === "" ? path : `${path}?${query}`,
    headers: [["origin", "SELF"], ...(body === undefined ? [] : [["content-type", route.type] as const])],
    body,
    as: route.as === undefined ? [] : [route.as],
    from: 0
  }
}

const addQuery = (path: string, query: string): string => `${path}${path.includes("?") ? "&" : "?"}${query}`

const withHeader = (request: RandomRequest, name: string, value: string): RandomRequest => ({
  ...request,
  headers: [...request.headers.filter(([other]) => other !== name), [name, value]],
  // Otherwise the request would have the credential's header too.
  as: name === "authorization" || name === "cookie" ? [] : request.as
})

const heads = (route: Route, schemas: Schemas): ReadonlyArray<HostileRequest> => {
  const plain = plainRequest(route, schemas)
  const head = (name: string, of: HostileRequest["of"]): HostileRequest => ({
    ...{ name, route, of },
    isInEveryRun: false,
    sizes: headSizes
  })
  const [path = "", query = ""] = plain.path.split("?")
  return [
    ...queries.map(([name, text]) => head(name, (bytes) => ({ ...plain, path: addQuery(plain.path, text(bytes)) }))),
    ...route.parameters
      .filter((it) => it.in === "query")
      .flatMap((parameter) => [
        ...values.map(([name, text]) =>
          head(`${name} in ${parameter.name}`, (bytes) => {
            const others = query.split("&").filter((pair) => !pair.startsWith(`${parameter.name}=`))
            return { ...plain, path: `${path}?${[...others, `${parameter.name}=${text(bytes)}`].join("&")}` }
          })
        ),
        head(`${parameter.name} repeated`, (bytes) => ({
          ...plain,
          path: addQuery(plain.path, fill(bytes, `${parameter.name}=a`, "&"))
        }))
      ]),
    ...paths.map(([name, text]) => head(name, (bytes) => ({ ...plain, path: `${path}${text(bytes)}` }))),
    ...headers.map(([header, text]) =>
      head(`${header}: ${text(24)}…`, (bytes) => withHeader(plain, header, text(bytes)))
    ),
    ...floods.map(([name, header]) =>
      head(name, (bytes) => {
        const flood: Array<readonly [string, string]> = []
        for (let length = 0; ; ) {
          const [key, value] = header(flood.length)
          length += key.length + value.length + 4
          if (length > bytes) return { ...plain, headers: [...plain.headers, ...flood], as: [] }
          flood.push([key, value])
        }
      })
    )
  ]
}

/** Returns the fields of a JSON body. */
const fieldsOf = ({ body }: Route, schemas: Schemas): ReadonlyArray<readonly [name: string, JsonSchema]> =>
  body === undefined ? [] : Object.entries(resolved(body, schemas).properties ?? {})

/** Returns true for a list field. The only undocumented one is OAuth's `redirect_uris`. */
const takesList = ([name, schema]: readonly [string, JsonSchema]): boolean =>
  name === "redirect_uris" || [schema, ...(schema.anyOf ?? [])].some(({ type }) => type === "array")

const bodies = (route: Route, schemas: Schemas): ReadonlyArray<HostileRequest> => {
  const plain = plainRequest(route, schemas)
  const body = (name: string, type: string, text: (bytes: number) => Buffer | string): HostileRequest => ({
    ...{ name, route },
    isInEveryRun: type.startsWith(formType) && route.type === formType && name.includes("repeated"),
    sizes: bodySizes,
    of: (bytes) => ({ ...withHeader(plain, "content-type", type), body: Buffer.from(text(bytes)) })
  })
  const json = ([name, text]: Part): HostileRequest => body(name, "application/json", text)
  const others: Record<string, unknown> = { ...(plain.body === undefined ? {} : JSON.parse(plain.body.toString())) }
  const field = ([name, schema]: readonly [string, JsonSchema]): ReadonlyArray<HostileRequest> =>
    fieldValues.map(([value, text]) => {
      const rest = Object.entries(others)
        .filter(([other]) => other !== name)
        .map(([other, part]) => `${JSON.stringify(other)}:${JSON.stringify(part)},`)
      return {
        ...json([`${value} in ${name}`, (bytes) => `{${rest.join("")}"${name}":${text(bytes)}}`]),
        isInEveryRun: value.startsWith("a list") && takesList([name, schema])
      }
    })
  return [
    ...texts.map(json),
    ...fieldsOf(route, schemas).flatMap(field),
    ...fieldsOf(route, schemas).map(([name]) =>
      body(`${name} repeated in a form`, formType, (bytes) => fill(bytes, `${name}=a`, "&"))
    ),
    ...typed.map(([name, type, text]) => body(name, type, text)),
    ...(route.path === "/mcp"
      ? messages.map(json).map((it) => ({ ...it, isInEveryRun: it.name.startsWith("wrong") }))
      : []),
    {
      ...body("compressed spaces", "application/json", () => ""),
      of: (bytes) => ({
        ...withHeader(plain, "content-encoding", "gzip"),
        body: gzipSync(Buffer.alloc(bytes * 20, 0x20))
      })
    }
  ]
}

/** Returns all hostile requests to a route. */
export const hostileRequests = (route: Route, schemas: Schemas): ReadonlyArray<HostileRequest> => [
  ...heads(route, schemas),
  ...(["POST", "PUT", "PATCH"].includes(route.method) ? bodies(route, schemas) : [])
]
