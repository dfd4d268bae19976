// Measures the memory of a first start on the embedded store, with a search for each of many titles over HTTP.
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { gunzipSync } from "node:zlib"
import { freePort } from "../../test/support/servers/freePort.ts"
import { residentMb } from "../support/Cpu.ts"

const usage = `npx node bench/index/memory.ts [--searches N]

Starts bin/quarry-server in an empty directory and asks N different searches (1,000). A key may ask 600 a minute, so that
1,000 take more than a minute.`

const { values } = parseArgs({
  options: { searches: { type: "string", default: "1000" }, help: { type: "boolean", default: false } }
})

const wantedMb = 400
const concurrency = 8
const searches = Number(values.searches)
const pathOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** Words of a title and a number, so that every query is different. */
const queries = (): ReadonlyArray<string> => {
  const lines = gunzipSync(readFileSync(pathOf("data/starter-index.jsonl.gz")))
    .toString()
    .trim()
    .split("\n")
  return Array.from({ length: searches }, (_, index) => {
    const { title } = JSON.parse(lines[(index * 7) % lines.length] ?? "{}")
    return `${String(title).split(/\s+/).slice(0, 3).join(" ")} ${index}`
  })
}

/** Retries until the rate limit allows the request. */
const search = async (port: number, key: string, query: string): Promise<void> => {
  for (;;) {
    const address = `http://127.0.0.1:${port}/v1/query?query=${encodeURIComponent(query)}`
    const response = await fetch(address, { headers: { authorization: `Bearer ${key}` } })
    const text = await response.text()
    if (response.ok) return
    if (response.status !== 429) throw new Error(`${response.status} for ${query}: ${text}`)
    await sleep(Number(response.headers.get("retry-after") ?? 1) * 1_000)
  }
}

const measure = async (directory: string): Promise<void> => {
  const port = await freePort()
  const env = { PATH: process.env.PATH, PORT: `${port}`, ADMIN_PORT: "0", LOG_FORMAT: "json" }
  const startedAt = performance.now()
  const server = spawn(pathOf("bin/quarry-server"), { cwd: directory, env, stdio: ["ignore", "pipe", "inherit"] })
  const ended = new Promise<void>((resolve) => server.on("close", () => resolve()))
  const pid = server.pid ?? Number.NaN
  try {
    const key = await new Promise<string>((resolve, reject) => {
      let said = ""
      server.stdout.setEncoding("utf8").on("data", (text: string) => {
        if (said.length < 100_000) said += text
        const [, found] = /"key":"([^"]+)"/.exec(said) ?? []
        if (found !== undefined) resolve(found)
      })
      server.on("close", (code) => reject(new Error(`the server ended with ${code}`)))
    })
    console.log(
      `first start: ${((performance.now() - startedAt) / 1_000).toFixed(1)} s, ${residentMb(pid).toFixed(0)} MB`
    )
    const left = queries().values()
    const ask = async () => {
      for (const query of left) await search(port, key, query)
    }
    await Promise.all(Array.from({ length: concurrency }, ask))
    const resident = residentMb(pid)
    console.log(`after ${searches} searches: ${resident.toFixed(0)} MB, wanted at most ${wantedMb}`)
    if (resident > wantedMb) process.exitCode = 1
  } finally {
    server.kill()
    await ended
  }
}

if (values.help) console.log(usage)
else {
  const directory = mkdtempSync(join(tmpdir(), "quarry-memory-"))
  await measure(directory).finally(() => rmSync(directory, { recursive: true, force: true }))
}
