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
 * Lists the files of `src` that a search passes through, from the socket to the provider and back: files with a
 * function that V8 counts as called in each of several searches, which excludes background work. The searches run on
 * the embedded store, are not cached, and use a provider of the type `searxng`.
 *
 *   npm run -s search-path
 */

const searches = 5

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
const provider = createServer((_, response) => {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results: rows }))
})
const providerUrl = `http://127.0.0.1:${await listen(provider)}`

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

const server = spawn(process.execPath, ["--inspect=127.0.0.1:0", fileURLToPath(new URL("main.ts", source))], {
  env: {
    PATH: process.env.PATH,
    DATA_DIR: "memory:",
    PORT: port,
    ADMIN_PORT: "0",
    DRAIN_DELAY: "0",
    LOG_FORMAT: "json",
    QUARRY_PROVIDERS: providerFile
  },
  stdio: ["ignore", "pipe", "pipe"]
})
const ended = once(server, "exit")
try {
  const [inspector, key] = await Promise.all([
    printed(server.stderr, /ws:\/\/\S+/),
    printed(server.stdout, /sk_live_\w+/)
  ])
  const search = async (query: string): Promise<void> => {
    const answer = await fetch(`${url}/v1/query?query=${query}`, { headers: { authorization: `Bearer ${key}` } })
    if (answer.status !== 200) throw new Error(`The search was answered ${answer.status}: ${await answer.text()}`)
    await answer.arrayBuffer()
  }
  await search("warm")
  using connection = await inspect(inspector)
  const { call } = connection
  await call("Profiler.enable")
  await call("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
  const sets: Array<ReadonlySet<string>> = []
  for (let n = 1; n <= searches; n++) {
    await call("Profiler.takePreciseCoverage")
    await search(`query${n}`)
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
