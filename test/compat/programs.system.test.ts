import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, References } from "effect"
import { UpstreamError } from "../../src/domain/errors.ts"
import { loopbackNetworks } from "../../src/domain/net/Network.ts"
import * as Listener from "../../src/process/Listener.ts"
import { Keyless, makeKeyless } from "../../src/services/accounts/Keyless.ts"
import { TrustedProxies } from "../../src/services/accounts/TrustedProxies.ts"
import { QueryLog } from "../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import { Readiness } from "../../src/services/operations/Readiness.ts"
import { everyShape } from "../support/api/Compat.ts"
import { aCaller, aKeyOf, found, providing, services } from "../support/api/Services.ts"
import { connect } from "../support/api/Wire.ts"

/*
 * Requests of programs that speak other services' shapes, byte for byte, and the parts of the answers that these programs
 * read, by their own rules. Those of the npm registry are recorded (`real/record.mjs`); the others are written from the
 * programs' sources.
 */

// biome-ignore lint/suspicious/noExplicitAny: programs read bodies without types.
type Body = any

/** Address, title and snippet of a result, as a program takes them. */
type Row = readonly [string, string, string]

interface Program {
  /** Reads an answer, or throws as the program does. */
  readonly read: (body: Body) => ReadonlyArray<Row>
  /** True for programs that can send no key. */
  readonly isKeyless?: boolean
  readonly source: "searxng" | "tavily" | "openwebui" | "perplexity"
}

/** Reads a field as Python's `row[name]` does, which fails where there is none. */
const required = (row: Body, name: string): string => {
  if (!(name in row)) throw new Error(`KeyError: ${name}`)
  return row[name]
}

const plain = (results: ReadonlyArray<Body>): ReadonlyArray<Row> =>
  results.map(({ content, title, url }) => [url, title, content])

const searxng = { source: "searxng", read: ({ results }: Body) => plain(results) } as const
const tavily = { source: "tavily", read: ({ results }: Body) => plain(results) } as const

/** Fails as LangChain and n8n do if one of the four is not a list. */
const langchainJs = ({ answers, infoboxes, results, suggestions }: Body): ReadonlyArray<Row> => {
  if (!results.length && !answers.length && !infoboxes.length && !suggestions.length) return []
  return results.map((row: Body) => [row.url || "", row.title || "", row.content || ""])
}

const programs: Readonly<Record<string, Program>> = {
  "anythingllm-searxng": {
    ...searxng,
    isKeyless: true,
    read: ({ results }) =>
      results.map((row: Body) => {
        void row.publishedDate
        return [row.url, row.title, row.content]
      })
  },
  "dify-searxng": { ...searxng, isKeyless: true },
  "gpt-researcher-searxng": {
    ...searxng,
    read: ({ results = [] }) => results.map((row: Body) => [required(row, "url"), row.title, required(row, "content")])
  },
  "langchain-js-searxng": { ...searxng, read: langchainJs },
  "langchain-js-tavily": {
    ...tavily,
    read: ({ images, results }) => {
      assert.isArray(images)
      return plain(results)
    }
  },
  "langchain-js-searxng-time": { ...searxng, read: langchainJs },
  "langchain-python-searxng": {
    ...searxng,
    read: (body) => {
      assert.lengthOf(required(body, "answers"), 0)
      return required(body, "results" as const) === undefined
        ? []
        : body.results.map((row: Body) => {
            required(row, "engines")
            required(row, "category")
            return [required(row, "url"), required(row, "title"), row.content ?? ""]
          })
    }
  },
  "librechat-searxng": {
    ...searxng,
    read: ({ results, suggestions }) => {
      suggestions.map(String)
      return plain(results.slice(0, 10))
    }
  },
  "librechat-tavily": tavily,
  "litellm-searxng": searxng,
  "litellm-tavily": tavily,
  "lobechat-searxng": {
    ...searxng,
    isKeyless: true,
    read: ({ results }) =>
      results.map((row: Body) => {
        assert.strictEqual(row.parsed_url[1], new URL(row.url).host)
        row.engines.join(",")
        return [row.url, row.title, row.content]
      })
  },
  "morphic-searxng": { ...searxng, isKeyless: true },
  "n8n-searxng": { ...searxng, isKeyless: true, read: langchainJs },
  "open-webui-external": {
    source: "openwebui",
    read: (rows) => rows.map((row: Body) => [row.link, row.title, row.snippet])
  },
  "open-webui-perplexity": {
    source: "perplexity",
    read: ({ results }) =>
      results.map((row: Body) => [required(row, "url"), required(row, "title"), required(row, "snippet")])
  },
  "open-webui-searxng": {
    ...searxng,
    read: ({ results }) => plain(results.toSorted((a: Body, b: Body) => (b.score ?? 0) - (a.score ?? 0)))
  },
  "tavily-js-options": tavily,
  "tavily-js": {
    ...tavily,
    read: ({ images, response_time: seconds, results }) => {
      images.map(String)
      assert.isNumber(seconds)
      return results.map((row: Body) => {
        assert.isNumber(row.score)
        assert.isNull(row.raw_content)
        return [row.url, row.title, row.content]
      })
    }
  },
  "tavily-python": { ...tavily, read: (body) => plain(required(body, "results") as Body) },
  "tavily-python-old": tavily,
  "vane-searxng": {
    ...searxng,
    isKeyless: true,
    read: ({ results, suggestions }) => {
      assert.isArray(suggestions)
      return plain(results)
    }
  }
}

const folder = new URL("./requests/", import.meta.url)

/** As long as a key, so that a body with it has its length. */
const standIn = `sk_live_${"x".repeat(49)}`

const base64 = (text: string): string => Buffer.from(text).toString("base64")

const requestOf = (name: string, secret: string): string =>
  readFileSync(new URL(`${name}.http`, folder), "latin1")
    .replaceAll(standIn, secret)
    .replaceAll(base64(`:${standIn}`), base64(`:${secret}`))

const keyless = Layer.effect(
  Keyless,
  Effect.gen(function* () {
    const { account } = yield* aCaller({ plan: "growth" })
    return yield* makeKeyless(account.id, loopbackNetworks)
  })
).pipe(Layer.orDie)

/** The services over one answer of the providers. */
const everythingOver = (answer: Effect.Effect<ReturnType<typeof found>, UpstreamError>) =>
  keyless.pipe(
    Layer.provideMerge(services(providing(() => answer))),
    Layer.provideMerge(Layer.mergeAll(everyShape, Readiness.layer, NodeHttpServer.layerHttpServices)),
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None"))
  )

const everything = everythingOver(Effect.succeed(found(3)))

const rows: ReadonlyArray<Row> = [1, 2, 3].map((n) => [`https://www.example.com/${n}`, `Title ${n}`, `Snippet ${n}`])

describe("programs for other services", () => {
  const listen = Listener.make({
    host: "127.0.0.1",
    port: 0,
    grace: Duration.seconds(5),
    drainDelay: Duration.zero
  }).pipe(Effect.provideService(TrustedProxies, 0))

  const answerTo = Effect.fnUntraced(function* (port: number, request: string) {
    const connection = yield* connect(port)
    yield* connection.send(Buffer.from(request, "latin1"))
    const [response] = yield* connection.responses(1)
    assert.isDefined(response)
    return response
  })

  const payer = Effect.gen(function* () {
    const principal = yield* Effect.flatMap(Keyless, (it) => it?.principal ?? Effect.die("no account"))
    return yield* aKeyOf(principal, "live")
  })

  it("have each a request, and each request has its program", () => {
    const names = readdirSync(fileURLToPath(folder)).map((file) => file.replace(".http", ""))
    assert.sameMembers(names, Object.keys(programs))
  })

  it.live("R43: each finds results in the answer, and pays one credit for it under its source", () =>
    Effect.gen(function* () {
      const { port } = yield* listen
      const caller = yield* payer
      const used = Effect.flatMap(Ledger, (ledger) => Effect.map(ledger.allowance(caller.account), (it) => it.used))
      for (const [name, { isKeyless = false, read, source }] of Object.entries(programs)) {
        const before = yield* used
        const response = yield* answerTo(port, requestOf(name, caller.secret))
        assert.strictEqual(response.status, 200, `${name}: ${response.text}`)
        assert.deepStrictEqual(read(response.json), rows, name)
        assert.strictEqual((yield* used) - before, 1, name)
        const [entry] = yield* Effect.flatMap(QueryLog, (log) => log.recent(caller.account.id, 1))
        assert.strictEqual(entry?.request.query, "http caching", name)
        assert.strictEqual(entry?.request.source, `compat:${source}`, name)
        assert.strictEqual(entry?.keyId === undefined, isKeyless, name)
      }
    }).pipe(Effect.provide(everything))
  )

  it.live("R43: each sees an error status while the provider is down", () =>
    Effect.gen(function* () {
      const { port } = yield* listen
      const { secret } = yield* payer
      for (const name of Object.keys(programs)) {
        const { status } = yield* answerTo(port, requestOf(name, secret))
        assert.strictEqual(status, 502, name)
      }
    }).pipe(Effect.provide(everythingOver(Effect.fail(new UpstreamError({ message: "The provider is down." })))))
  )

  it.live("R43: a proxy on this machine that is not trusted makes nobody a caller of this machine", () =>
    Effect.gen(function* () {
      const { port } = yield* listen
      const request = requestOf("vane-searxng", "")
      const through = (header: string) =>
        Effect.map(answerTo(port, request.replace("\r\n\r\n", `\r\n${header}\r\n\r\n`)), ({ status }) => status)
      assert.strictEqual(yield* through("X-Trace: 1"), 200)
      assert.strictEqual(yield* through("X-Forwarded-For: 203.0.113.9"), 401)
      assert.strictEqual(yield* through("X-Forwarded-For: 127.0.0.1"), 401)
      assert.strictEqual(yield* through("Forwarded: for=203.0.113.9"), 401)
      assert.strictEqual(yield* through("Via: 1.1 proxy"), 401)
    }).pipe(Effect.provide(everything))
  )
})
