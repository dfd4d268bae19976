import { readFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as LatestClient from "@modelcontextprotocol/client"
import { UnauthorizedError as EarlierUnauthorized } from "@modelcontextprotocol/sdk/client/auth.js"
import * as EarlierClient from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as EarlierTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Duration, Effect } from "effect"
import * as Apps from "../support/accounts/Apps.ts"
import { layer, makeWorld, origin, type World } from "../support/agents/AgentWorld.ts"
import { makeEmail } from "../support/api/searches.ts"

/** What a program keeps on disk. Several programs may share it. */
interface Store {
  client?: LatestClient.OAuthClientInformationMixed | undefined
  tokens?: LatestClient.OAuthTokens | undefined
  verifier?: string
  asked?: URL | undefined
}

const providerOf = (store: Store): LatestClient.OAuthClientProvider => ({
  redirectUrl: Apps.callback,
  clientMetadata: { client_name: "A program", redirect_uris: [Apps.callback] },
  clientInformation: () => store.client,
  saveClientInformation: (client) => {
    store.client = client
  },
  tokens: () => store.tokens,
  saveTokens: (tokens) => {
    store.tokens = tokens
  },
  redirectToAuthorization: (url) => {
    store.asked = url
  },
  saveCodeVerifier: (verifier) => {
    store.verifier = verifier
  },
  codeVerifier: () => store.verifier ?? "",
  invalidateCredentials: (scope) => {
    if (scope === "all" || scope === "client") store.client = undefined
    if (scope === "all" || scope === "tokens") store.tokens = undefined
  }
})

/** A running program: calls tools, and finishes a sign-in with a code. */
interface Program {
  readonly connect: () => Promise<unknown>
  readonly call: () => Promise<unknown>
  readonly finish: (code: string) => Promise<void>
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

const search = { name: "web_search", arguments: { query: "css grid" } }

type StartProgram = (store: Store, fetch: Fetch, path: string) => Program

interface Earlier {
  readonly Client: typeof EarlierClient.Client
  readonly StreamableHTTPClientTransport: typeof EarlierTransport
}

const earlier =
  ({ Client, StreamableHTTPClientTransport }: Earlier): StartProgram =>
  (store, fetch, path) => {
    const client = new Client({ name: "program", version: "1" })
    const authProvider = providerOf(store) as NonNullable<
      ConstructorParameters<typeof EarlierTransport>[1]
    >["authProvider"]
    const transport = new StreamableHTTPClientTransport(new URL(origin + path), {
      ...(authProvider === undefined ? {} : { authProvider }),
      fetch
    })
    return {
      // The cast: the class declares optional members with `undefined`.
      connect: () => client.connect(transport as Parameters<typeof client.connect>[0]),
      call: () => client.callTool(search),
      finish: (code) => transport.finishAuth(code)
    }
  }

/** Folders with earlier versions of the SDK, which `npm run agent-clients -- --earlier` installs. */
const folders = (process.env.AGENT_SDKS ?? "").split(delimiter).filter((folder) => folder !== "")

/** Modules of an installed version. The casts: the versions share the members that are used here. */
const installed = async (folder: string) => {
  const root = join(folder, "node_modules/@modelcontextprotocol/sdk")
  const load = (module: string) => import(pathToFileURL(join(root, "dist/esm/client", module)).href)
  const { Client } = (await load("index.js")) as typeof EarlierClient
  const { StreamableHTTPClientTransport } = (await load("streamableHttp.js")) as Earlier
  const { UnauthorizedError } = (await load("auth.js")) as { readonly UnauthorizedError: typeof EarlierUnauthorized }
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  return {
    name: `@modelcontextprotocol/sdk ${version}`,
    UnauthorizedError,
    start: earlier({ Client, StreamableHTTPClientTransport })
  }
}

const others = await Promise.all(folders.map(installed))

/** Each official client, as a program starts it. */
const programs: Readonly<Record<string, StartProgram>> = {
  "@modelcontextprotocol/sdk 1": earlier({ ...EarlierClient, StreamableHTTPClientTransport: EarlierTransport }),
  ...Object.fromEntries(others.map(({ name, start }) => [name, start])),
  ...Object.fromEntries(
    (["auto", "legacy"] as const).map((mode) => [
      `@modelcontextprotocol/client 2, ${mode}`,
      (store: Store, fetch: Fetch, path: string): Program => {
        const client = new LatestClient.Client({ name: "program", version: "1" }, { versionNegotiation: { mode } })
        const transport = new LatestClient.StreamableHTTPClientTransport(new URL(origin + path), {
          authProvider: providerOf(store),
          fetch
        })
        return {
          connect: () => client.connect(transport),
          call: () => client.callTool(search),
          finish: (code) => transport.finishAuth(new URLSearchParams({ code, iss: `${origin}/api/auth` }))
        }
      }
    ])
  )
}

const isUnauthorized = (error: unknown): boolean =>
  [EarlierUnauthorized, LatestClient.UnauthorizedError, ...others.map((it) => it.UnauthorizedError)].some(
    (type) => error instanceof type
  )

/** Requests of this process go to the world's servers, and `lose` drops the answer to one of them. */
const makeFetch = (world: World) => {
  let lost: string | undefined
  const fetch: Fetch = async (url, init) => {
    const request = new Request(url, init)
    const { pathname } = new URL(request.url)
    const response = await Effect.runPromise(Effect.orDie(world.site.routes.handle(request, "198.51.100.7")))
    if (lost !== pathname) return response
    lost = undefined
    throw new TypeError("fetch failed")
  }
  return {
    fetch,
    lose: (pathname: string) => {
      lost = pathname
    }
  }
}

const aPerson = Effect.fnUntraced(function* (world: World) {
  const email = yield* makeEmail
  const { json } = yield* world.makeBrowser().signUp(world.site, email)
  const [row] = yield* world.sql<{ id: string }>`select account_id as id from members where user_id = ${json.user.id}`
  return { email, accountId: row?.id ?? assert.fail("no account"), personId: String(json.user.id) }
})

/** Opens the page that the program asked for, and allows it. */
const allow = Effect.fnUntraced(function* (world: World, email: string, asked: URL) {
  const browser = world.makeBrowser()
  yield* browser.signIn(world.site, email)
  return (yield* Apps.allow(world.site, browser, asked.searchParams)).searchParams.get("code") ?? ""
})

const start = Effect.fnUntraced(function* (name: string, path = "/mcp") {
  const world = yield* makeWorld
  const { accountId, email, personId } = yield* aPerson(world)
  const { fetch, lose } = makeFetch(world)
  const store: Store = {}
  const open = () => (programs[name] ?? assert.fail(name))(store, fetch, path)

  /** Connects, and signs in if the program asks for it. Returns the program and whether it asked. */
  const connect = Effect.gen(function* () {
    const first = open()
    const exit = yield* Effect.exit(Effect.tryPromise({ try: first.connect, catch: (error) => error }))
    if (exit._tag === "Success") return { program: first, hasAsked: false }
    const error = yield* Effect.flip(exit)
    assert.isTrue(isUnauthorized(error), String(error))
    const code = yield* allow(world, email, store.asked ?? assert.fail("no sign-in"))
    yield* Effect.promise(() => first.finish(code))
    const program = open()
    yield* Effect.promise(program.connect)
    return { program, hasAsked: true }
  })
  const call = ({ call }: Program) => Effect.promise(call)
  return { world, person: { accountId, personId }, store, connect, call, lose }
})

const hour = Duration.minutes(61)

describe("official clients live through a day", () => {
  for (const name of Object.keys(programs)) {
    it.live(
      name,
      () =>
        Effect.gen(function* () {
          const { call, connect, lose, person, store, world } = yield* start(name, "/mcp?tools=web_search,account")
          const { hasAsked, program } = yield* connect
          assert.isTrue(hasAsked)
          yield* call(program)

          // Four calls at once after the token's hour, then a second window on the same token store.
          yield* world.advance(hour)
          yield* Effect.all(
            [1, 2, 3, 4].map(() => call(program)),
            { concurrency: "unbounded" }
          )
          const second = yield* connect
          assert.isFalse(second.hasAsked)
          yield* world.advance(hour)
          yield* Effect.all([call(program), call(second.program)], { concurrency: "unbounded" })

          // The answer to a refresh is lost, and the program tries again.
          yield* world.advance(hour)
          lose("/api/auth/oauth2/token")
          yield* Effect.exit(Effect.tryPromise(program.call))
          const retried = yield* connect
          assert.isFalse(retried.hasAsked)
          yield* call(retried.program)

          // The server restarts, and its secret is replaced twice.
          for (let round = 0; round < 2; round++) {
            yield* world.rotate
            yield* world.restart
            yield* world.advance(hour)
            const next = yield* connect
            assert.isFalse(next.hasAsked)
            yield* call(next.program)
          }

          // The person disconnects the program, another registers, and the person connects it again.
          const app = store.client?.client_id ?? assert.fail("not registered")
          yield* world.disconnect(person, app)
          yield* Apps.register(world.site)
          const again = yield* connect
          assert.isTrue(again.hasAsked)
          yield* call(again.program)
          assert.strictEqual(store.client?.client_id, app)

          // Its registration outlives 89 days without use, and not 91.
          yield* world.advance(Duration.days(89))
          const late = yield* connect
          assert.isTrue(late.hasAsked)
          assert.strictEqual(store.client?.client_id, app)
          yield* world.advance(Duration.days(91))
          const last = yield* connect
          assert.isTrue(last.hasAsked)
          assert.notStrictEqual(store.client?.client_id, app)
          yield* call(last.program)
        }).pipe(Effect.scoped, Effect.provide(layer)),
      { timeout: 180_000 }
    )
  }
})
