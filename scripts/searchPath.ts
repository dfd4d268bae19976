import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { targets } from "../src/domain/search/Target.ts"
import { freePort } from "../test/support/servers/freePort.ts"

/*
 * Lists the files of `src` that a request passes through, from the socket to the provider and back: files with a
 * function that V8 counts as called in each of several requests, which excludes background work. The requests run on
 * the embedded store, are not cached, and use a provider of the type `searxng`.
 *
 *   npm run -s search-path             GET /v1/query
 *   npm run -s search-path -- bulk     POST /v1/bulk with two rows, of which one does not get an answer in time
 *   npm run -s search-path -- keys     POST /v1/api-keys by a person who has signed in
 */

const repetitions = 5

/** The text of searches that the provider does not answer. */
const late = "late"

const root = new URL("../", import.meta.url)
const source = new URL("src/", root).href

interface Coverage {
  readonly result: ReadonlyArray<{
    readonly url: string
    readonly functions: ReadonlyArray<{ readonly ranges: ReadonlyArray<{ readonly count: number }> }>
  }>
}

/** Connects to the server's inspector. The server cannot exit before the connection is closed. */
const inspect = async (address: string) => {
  const socket = new WebSocket(address)
  await once(socket, "open")
  const waiting = new Map<number, (result: unknown) => void>()
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data))
    waiting.get(id)?.(result)
    waiting.delete(id)
  })
  let last = 0
  return {
    call: (method: string, params: object = {}): Promise<unknown> =>
      new Promise((resolve) => {
        last += 1
        waiting.set(last, resolve)
        socket.send(JSON.stringify({ id: last, method, params }))
      }),
    [Symbol.dispose]: () => socket.close()
  }
}

/** Resolves with the first match in the server's output. */
const printed = (stream: NodeJS.ReadableStream, pattern: RegExp): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ""
    stream.on("data", (part) => {
      text += part
      const found = pattern.exec(text)?.[0]
      if (found !== undefined) resolve(found)
    })
    stream.once("end", () => reject(new Error(`The server ended:\n${text}`)))
  })

const listen = async (server: Server): Promise<string> => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return typeof address === "object" ? `${address?.port}` : ""
}

const filesIn = ({ result }: Coverage): ReadonlySet<string> =>
  new Set(
    result
      .filter(
        ({ functions, url }) => url.startsWith(source) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
      )
      .map(({ url }) => url.slice(source.length))
  )

const rows = [1, 2, 3].map((n) => ({
  url: `https://www.example.com/${n}`,
  title: `Title ${n}`,
  content: "Snippet",
  engines: ["google"]
}))
const provider = createServer((request, response) => {
  if (request.url?.includes(late) === true) return
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results: rows }))
})
const providerUrl = `http://127.0.0.1:${await listen(provider)}`

const [kind = "query"] = process.argv.slice(2)
const port = `${await freePort()}`
const url = `http://127.0.0.1:${port}`

const directory = mkdtempSync(join(tmpdir(), "quarry-search-path-"))
const providerFile = join(directory, "providers.json")
const entry = [{ provider: "stub", engine: "google" }]
const providers = { stub: { type: "searxng", url: providerUrl } }
writeFileSync(
  providerFile,
  JSON.stringify({ providers, targets: Object.fromEntries(targets.map((it) => [it, entry])) })
)

/** Path and body of a request. Undefined body: GET. */
const requestOf = (kind: string, name: string): readonly [path: string, body: object | undefined] => {
  if (kind === "bulk") return ["/v1/bulk", { queries: [name, `${late} ${name}`] }]
  if (kind === "keys") return ["/v1/api-keys", { name }]
  return [`/v1/query?query=${name}`, undefined]
}

/** Sets the password of the first start's account, as its sign-in link asks for. Returns the headers of a session. */
const signIn = async (token: string): Promise<Readonly<Record<string, string>>> => {
  const headers = { origin: url, "x-quarry-dashboard": "1" }
  const response = await fetch(`${url}/oauth/confirm`, {
    method: "POST",
    redirect: "manual",
    headers,
    body: new URLSearchParams({ token, password: "correct horse battery staple" })
  })
  const cookie = response.headers.getSetCookie().map((each) => each.split(";")[0])
  if (cookie.length === 0) throw new Error(`The password was not accepted: ${response.status}`)
  return { ...headers, cookie: cookie.join("; ") }
}

const server = spawn(process.execPath, ["--inspect=127.0.0.1:0", fileURLToPath(new URL("main.ts", source))], {
  env: {
    PATH: process.env.PATH,
    DATA_DIR: "memory:",
    PORT: port,
    BASE_URL: url,
    PROVIDER_TIMEOUT: kind === "bulk" ? "500 millis" : "15 seconds",
    ADMIN_PORT: "0",
    DRAIN_DELAY: "0",
    LOG_FORMAT: "json",
    QUARRY_PROVIDERS: providerFile
  },
  stdio: ["ignore", "pipe", "pipe"]
})
const ended = once(server, "exit")
try {
  const [inspector, key, linkToken] = await Promise.all([
    printed(server.stderr, /ws:\/\/\S+/),
    printed(server.stdout, /sk_live_\w+/),
    printed(server.stdout, /(?<=\/oauth\/confirm\?token=)[\w-]+/)
  ])
  const login: Readonly<Record<string, string>> =
    kind === "keys" ? await signIn(linkToken) : { authorization: `Bearer ${key}` }
  const repeat = async (name: string): Promise<void> => {
    const [path, body] = requestOf(kind, name)
    const response = await fetch(`${url}${path}`, {
      headers: { ...login, "content-type": "application/json" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`The response to ${path} was ${response.status}: ${text}`)
  }
  await repeat("warm")
  using connection = await inspect(inspector)
  const { call } = connection
  await call("Profiler.enable")
  await call("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
  const sets: Array<ReadonlySet<string>> = []
  for (let n = 1; n <= repetitions; n++) {
    await call("Profiler.takePreciseCoverage")
    await repeat(`query${n}`)
    sets.push(filesIn((await call("Profiler.takePreciseCoverage")) as Coverage)) // The protocol defines this shape.
  }
  const [first = new Set<string>(), ...others] = sets
  const files = [...first].filter((file) => others.every((set) => set.has(file))).sort()
  console.log(files.join("\n"))
  console.log(`${files.length} files`)
} finally {
  server.kill("SIGTERM")
  await ended
  provider.close()
  rmSync(directory, { recursive: true, force: true })
}
