import { createHash, randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Redacted, type Scope } from "effect"
import * as Replica from "../../Replica.ts"
import * as Store from "../../Store.ts"
import * as Subprocess from "../../Subprocess.ts"
import * as Webhooks from "../Webhooks.ts"
import type { Place } from "./hostileBodies.ts"

export interface Means {
  readonly server: Replica.Replica
  readonly store: Store.Store
  readonly sitePort: string
  readonly securePort: string
  /** Of the attacker. */
  readonly secret: string
}

/** Ends when the response has arrived. Returns its status or what was reported. */
type Attack = (means: Means) => Effect.Effect<string, unknown, Scope.Scope>

let addresses = 0

/** Nothing of an earlier case is known about a new address. */
const newHost = (): string => {
  const n = ++addresses
  return `127.0.${10 + Math.floor(n / 250)}.${(n % 250) + 1}`
}

const get = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  Effect.promise(async (signal) => {
    try {
      const response = await fetch(url, { headers, redirect: "manual", signal })
      const text = await response.text()
      const reason =
        /"reason":"(\w+)"/.exec(text)?.[1] ?? /[?&]error=(\w+)/.exec(response.headers.get("location") ?? "")?.[1]
      return reason === undefined ? String(response.status) : `${response.status} ${reason}`
    } catch (error) {
      return String(error)
    }
  })

const readPage: Attack = ({ secret, server, sitePort }) => {
  const page = `http://${newHost()}:${sitePort}/page`
  return get(`${server.url}/v1/page?url=${encodeURIComponent(page)}`, { authorization: `Bearer ${secret}` })
}

const search: Attack = ({ secret, server }) =>
  get(`${server.url}/v1/query?query=${randomUUID()}`, { authorization: `Bearer ${secret}` })

/** Without an account. */
const authorize: Attack = ({ securePort, server }) => {
  const query = new URLSearchParams({
    response_type: "code",
    client_id: `https://localhost:${securePort}/${++addresses}.json`,
    redirect_uri: "http://127.0.0.1:9/callback",
    code_challenge: createHash("sha256").update("a").digest("base64url"),
    code_challenge_method: "S256",
    state: "a state"
  })
  return get(`http://localhost:${server.port}/api/auth/oauth2/authorize?${query}`)
}

/** Waits until the delivery was attempted. */
const deliver: Attack = Effect.fnUntraced(function* ({ sitePort, store }) {
  const { accountId } = yield* Store.customer(store, { quota: 1 })
  yield* Webhooks.add(store, accountId, `http://${newHost()}:${sitePort}/hook`)
  const { key } = yield* store.keys.create(accountId, { label: "a", mode: "test" })
  const attempts = store.sql<{ readonly status: string; readonly http_status: number | null }>`
    select d.status, d.http_status from event_deliveries d join events e on e.id = d.event_id
    where e.account_id = ${accountId} and d.attempted_at is not null`
  for (let n = 0; n < 200; n++) {
    const [attempt] = yield* attempts
    if (attempt !== undefined) return `${key.mode} ${attempt.status} ${attempt.http_status ?? ""}`
    yield* Effect.sleep("100 millis")
  }
  return "not attempted"
})

const program = fileURLToPath(new URL("../../../../src/cli.ts", import.meta.url))

/** Crawls a new site. `onStart` receives the process. */
export const crawl = Effect.fnUntraced(function* (
  { sitePort, store }: Pick<Means, "sitePort" | "store">,
  onStart: (pid: number) => void
) {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "quarry-torture-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  let last = ""
  const options = ["--max-pages", "3", "--delay", "0", "--state", join(directory, "state.jsonl")]
  const process_ = yield* Subprocess.start(
    process.execPath,
    [program, "index", "crawl", `http://${newHost()}:${sitePort}/`, ...options],
    {
      env: {
        DATABASE_URL: Redacted.value(store.url),
        ...Replica.secrets,
        PAGES_ALLOW_PRIVATE: "true",
        PAGES_TIMEOUT: "5 seconds"
      },
      onLine: (line) => {
        if (/Loaded/.test(line)) last = line
      }
    }
  )
  onStart(process_.pid)
  return `exit ${yield* process_.ended} ${last}`
})

/** The crawl is the operator's own command, and is started by the scenario, which measures its process. */
export const attacks: { readonly [P in Exclude<Place, "crawl" | "sitemap">]: Attack } = {
  page: readPage,
  robots: readPage,
  pdf: readPage,
  reader: readPage,
  metadata: authorize,
  provider: search,
  webhook: deliver
}
