import { createQuarry, isQuarryError } from "../../../clients/typescript/src/index.ts"

/** Calls each address that it is given, and prints the error of each, and what is left of its sockets and timers. */

const apiKey = "sk_live_secret"

const outcomeOf = async (baseUrl: string): Promise<unknown> => {
  const quarry = createQuarry({ baseUrl, apiKey, maxRetries: 0, timeoutMs: 700 })
  const startedAt = performance.now()
  const call = baseUrl.endsWith("/stream") ? Array.fromAsync(quarry.stream(["a"])) : quarry.query("a")
  const error = await call.then(
    (value) => ({ answered: value }),
    (error: unknown) => error
  )
  if (!isQuarryError(error)) return { untyped: String(error) }
  const status = "status" in error ? error.status : undefined
  const { attempts, error: code, message, retryAfterMs } = error
  return { code, message, attempts, status, retryAfterMs, ms: Math.round(performance.now() - startedAt) }
}

const outcomes: Array<unknown> = []
for (const baseUrl of process.argv.slice(2)) outcomes.push(await outcomeOf(baseUrl))
// Sockets of calls that have ended are closed in the next turns of the event loop.
for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
const left = process.getActiveResourcesInfo().filter((name) => /Timeout|TCP|TLS|Immediate/.test(name))
console.log(JSON.stringify({ outcomes, left, heapMb: Math.round(process.memoryUsage().rss / 2 ** 20) }))
