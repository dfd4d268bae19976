import { request as send } from "node:http"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

/** The means of an attacker. */
export interface Means {
  readonly port: number
  /** A key of the attacker's own account. */
  readonly secret: string
  readonly demoOrigin: string
  /** Loopback addresses of the attacker. Honest callers have a different one. */
  readonly addresses: ReadonlyArray<string>
  readonly stop: AbortSignal
}

/** Counts of outcomes of an attack's attempts. */
export type Tally = Record<string, number>

export interface Attack {
  readonly name: string
  readonly run: (means: Means, count: (what: string) => void) => Promise<unknown>
}

const pick = <A>(items: ReadonlyArray<A>): A => items[Math.floor(Math.random() * items.length)] as A // None is empty.

const pause = (ms: number, stop: AbortSignal): Promise<unknown> =>
  sleep(ms, undefined, { signal: stop }).catch(() => {})

/** Repeats `one` until stopped, `width` in parallel, with `pauseMs` after each. */
const keepUp = (width: number, pauseMs: number, stop: AbortSignal, one: () => Promise<unknown>) =>
  Promise.all(
    Array.from({ length: width }, async (_, n) => {
      await pause((pauseMs * n) / width, stop)
      while (!stop.aborted) {
        await one()
        await pause(pauseMs, stop)
      }
    })
  )

const head = (method: string, path: string, headers: Readonly<Record<string, string>>): string =>
  `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`

/**
 * Opens a connection from one of the attacker's addresses, which `use` keeps until it closes. Returns the response
 * status.
 */
const hold = ({ addresses, port, stop }: Means, use: (socket: Socket) => void): Promise<string> =>
  new Promise((resolve) => {
    let outcome = "closed without an answer"
    const socket = connect({ port, host: "127.0.0.1", localAddress: pick(addresses) }, () => use(socket))
    const leave = () => {
      outcome = outcome.startsWith("closed") ? "held to the end" : outcome
      socket.destroy()
    }
    stop.addEventListener("abort", leave, { once: true })
    socket.once("data", (chunk) => {
      outcome = /^HTTP\/1\.1 (\d+)/.exec(chunk.toString("latin1"))?.[1] ?? "answered with something else"
    })
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") outcome = "refused"
    })
    socket.on("close", () => {
      stop.removeEventListener("abort", leave)
      resolve(outcome)
    })
  })

interface Asked {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends a complete request and reads the whole response. Returns its status and text. */
const exchange = ({ addresses, port, stop }: Means, { body, headers, method = "GET", path }: Asked) =>
  new Promise<{ readonly outcome: string; readonly text: string }>((resolve) => {
    const request = send({
      port,
      host: "127.0.0.1",
      localAddress: pick(addresses),
      agent: false,
      method,
      path,
      signal: stop
    })
    for (const [name, value] of Object.entries(headers ?? {})) request.setHeader(name, value)
    request.on("error", (error: NodeJS.ErrnoException) =>
      resolve({ outcome: stop.aborted ? "unanswered at the end" : (error.code ?? error.message), text: "" })
    )
    request.on("response", (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
      response.on("error", () => resolve({ outcome: "cut off", text }))
      response.on("end", () => resolve({ outcome: String(response.statusCode), text }))
    })
    request.end(body)
  })

const json = { "content-type": "application/json" }
const bearer = ({ secret }: Means) => ({ authorization: `Bearer ${secret}` })

/** The largest public resource: the API reference, its assets, or the document that it shows. */
const largestPublic = async (means: Means): Promise<string> => {
  const { text } = await exchange(means, { path: "/docs" })
  const assets = [...text.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, path]) => path ?? "")
  const sizes = await Promise.all(
    ["/docs", "/openapi.json", ...new Set(assets)].map(async (path) => ({
      path,
      size: (await exchange(means, { path })).text.length
    }))
  )
  return sizes.reduce((one, other) => (other.size > one.size ? other : one)).path
}

const readers = 240
const readBytes = 512

const slowReaders: Attack = {
  name: `${readers} connections that read 512 bytes a second of a large answer`,
  run: async (means, count) => {
    const path = await largestPublic(means)
    count(`of ${path}`)
    await keepUp(readers, 1000, means.stop, async () => {
      let timer: NodeJS.Timeout | undefined
      const outcome = await hold(means, (socket) => {
        socket.write(head("GET", path, {}).repeat(4))
        // Reads the first chunk, which has the status, and then just enough to keep the connection from being idle.
        socket.once("data", () => {
          socket.pause()
          timer = setInterval(() => socket.read(readBytes), 1000)
        })
      })
      clearInterval(timer)
      count(outcome)
    })
  }
}

/** One-byte chunks in a write of 16 KiB, and as many writes as a body of 1 MiB allows. */
const dripOf = 2730
const drip = Buffer.from("1\r\n \r\n".repeat(dripOf))
const maxDrips = Math.floor(1024 ** 2 / dripOf)

const oneByteChunks: Attack = {
  name: "bodies in chunks of one byte",
  run: (means, count) => {
    const chunked = { ...json, "transfer-encoding": "chunked" }
    const mcp = { accept: "application/json, text/event-stream" }
    const heads = [
      head("POST", "/api/auth/sign-in/email", chunked),
      head("POST", "/v1/bulk", { ...chunked, ...bearer(means) }),
      head("POST", "/mcp", { ...chunked, ...bearer(means), ...mcp })
    ]
    const everyMs = 250
    return Promise.all(
      heads.map((start) =>
        keepUp(3, 500, means.stop, async () => {
          let timer: NodeJS.Timeout | undefined
          const outcome = await hold(means, (socket) => {
            let sent = 0
            socket.write(start)
            timer = setInterval(() => {
              if (sent >= maxDrips || socket.writableNeedDrain) return
              sent++
              socket.write(drip)
              count("writes of 16 KiB")
            }, everyMs)
          })
          clearInterval(timer)
          count(outcome)
        })
      )
    )
  }
}

const bodilessRequests = 1040

const missingBodies: Attack = {
  name: `${bodilessRequests} requests whose bodies never come`,
  run: (means, count) => {
    const announced = { ...json, "content-length": "1000" }
    const heads = [
      head("POST", "/api/auth/sign-in/email", announced),
      head("POST", "/v1/bulk", { ...announced, ...bearer(means) }),
      head("POST", "/mcp", { ...announced, ...bearer(means) })
    ]
    return keepUp(bodilessRequests, 5000, means.stop, async () =>
      count(await hold(means, (socket) => socket.write(pick(heads))))
    )
  }
}

/** Common prefixes of words, with three letters, because shorter ones are not looked up as prefixes. */
const prefixes =
  "acc act add adv age all app are art ass aut bac bas bet blo boo bra bre bri bui cal can cap car cas cat cha che cla cli clo cod col com con coo cor cou cre cur dat dec def del dep des det dev dif dis doc dom dri dyn edi eff ele emb ena end ent err eve exa exp ext fac fea fie fil fin fir fol for fra fre fro fun gen get gra gro gui han hea hel his hos how ima imp inc ind inf ini ins int inv iss ite jav jso key lab lan lay lea lib lic lin lis loa loc log mac mai man map mar mat mea mem mes met mic min mod mon mul nam nat net new not num obj off onl ope opt ord ori out ove pac pag par pas pat per pla pol por pos pre pri pro pub que rea rec ref reg rel rem ren rep req res ret rev rol roo rou rul run saf sam sca sch scr sea sec sel sen ser ses set sha sho sim sin siz sou spa spe sta ste sto str sty sub sup swi syn sys tab tag tar tas tem ter tes tex the thi tim too top tra tre tri typ und uni upd url usa use uti val var ver vie vis web who win wor wri".split(
    " "
  )

const hundredPrefixes = (): string => {
  const chosen = new Set<string>()
  while (chosen.size < 100) chosen.add(pick(prefixes))
  return [...chosen].join(" ")
}

const search = (means: Means, target: string, query: string, more = ""): Asked => ({
  path: `/v1/query?target=${target}&query=${encodeURIComponent(query)}${more}`,
  headers: bearer(means)
})

const manyPrefixes: Attack = {
  name: "queries of a hundred prefixes, single and in keyless batches",
  run: (means, count) => {
    const batch = () => ({
      method: "POST",
      path: "/v1/bulk",
      headers: { ...json, "x-demo-origin": means.demoOrigin },
      body: JSON.stringify({ target: "zeta_search", queries: Array.from({ length: 50 }, hundredPrefixes) })
    })
    const single = () => search(means, "zeta_search", hundredPrefixes())
    const one = (kind: string, asked: () => Asked) => async () => {
      const startedAt = performance.now()
      const { outcome } = await exchange(means, asked())
      const seconds = (performance.now() - startedAt) / 1000
      count(`${kind} ${outcome} in ${seconds < 1 ? "under 1" : seconds < 10 ? "1 to 10" : "10 and more"} s`)
    }
    return Promise.all([
      keepUp(2, 1000, means.stop, one("single", single)),
      keepUp(2, 5000, means.stop, one("batch", batch))
    ])
  }
}

let answersAsked = 0

const largeAnswers: Attack = {
  name: "upstream answers of 1 MB, and those that break an adapter",
  run: (means, count) => {
    const one =
      (target: string, lever: string, more = "") =>
      async () =>
        count(
          `${lever} ${(await exchange(means, search(means, target, `attack ${++answersAsked} ${lever}`, more))).outcome}`
        )
    return Promise.all([
      keepUp(2, 400, means.stop, one("beta_search", "large")),
      keepUp(1, 2000, means.stop, one("epsilon_search", "many", "&num=20")),
      keepUp(1, 2000, means.stop, one("delta_search", "deep"))
    ])
  }
}

const long = (length: number): string => "x".repeat(length)

/** Requests with every part at its maximum length. */
const noisyRequests = (means: Means): ReadonlyArray<Asked> => {
  const post = (path: string, body: unknown, headers = {}): Asked => ({
    method: "POST",
    path,
    headers: { ...json, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body)
  })
  const password = "correct horse battery staple"
  return [
    { path: `/${long(200_000)}` },
    { path: `/${long(15_000)}` },
    { path: `/v1/query?query=${long(200_000)}` },
    { path: `/v1/query?query=a&source=${long(14_000)}`, headers: bearer(means) },
    { path: `/v1/query?target=${long(14_000)}`, headers: bearer(means) },
    { path: "/v1/me", headers: { "user-agent": long(200_000) } },
    { path: "/v1/me", headers: { "x-request-id": long(15_000), "user-agent": long(100) } },
    { path: "/v1/me", headers: { authorization: `Bearer ${long(15_000)}` } },
    { path: "/v1/me", headers: { cookie: `quarry.session_token=${long(15_000)}` } },
    { path: `/api/auth/oauth2/authorize?client_id=${long(14_000)}&scope=${long(900)}` },
    { path: `/oauth/confirm?token=${long(14_000)}` },
    { path: `/api/auth/error?error=${long(14_000)}` },
    { path: `/oauth/sign-in?client_id=${long(14_000)}` },
    post("/api/auth/sign-in/email", { email: `${long(900_000)}@a.test`, password }),
    post("/api/auth/sign-in/email", { email: "a@a.test", password: long(900_000) }),
    post("/api/auth/sign-in/email", { email: "a@a.test", password, oauth_query: long(900_000) }),
    post("/api/auth/sign-in/email", { email: "a@a.test", password, oauth_query: [1] }),
    post("/api/auth/sign-in/email", { email: "a@a.test", password, callbackURL: `https://${long(900_000)}.test` }),
    post("/api/auth/sign-in/email", "[".repeat(900_000)),
    post("/api/auth/sign-in/email", { email: "a@a.test", password }, { origin: `https://${long(14_000)}.test` }),
    post("/api/auth/sign-up/email", { email: `${long(60)}@a.test`, password, name: long(900_000) }),
    post("/api/auth/request-password-reset", { email: "a@a.test", redirectTo: long(900_000) }),
    post("/api/auth/oauth2/register", { redirect_uris: [`https://${long(900_000)}.test`] }),
    post("/api/auth/oauth2/register", { redirect_uris: Array.from({ length: 50_000 }, (_, n) => `http://${n}.test`) }),
    post("/api/auth/oauth2/token", { grant_type: "refresh_token", refresh_token: long(900_000), client_id: long(9) }),
    post("/api/auth/oauth2/public-client-prelogin", { client_id: "a", oauth_query: long(900_000) }),
    post("/api/auth/oauth2/consent", { accept: true, oauth_query: long(900_000) }),
    post("/v1/bulk", { queries: [{ [long(500_000)]: 1, target: long(500_000) }] }, bearer(means)),
    post("/mcp", { jsonrpc: "2.0", id: 1, method: long(900_000) }, bearer(means))
  ]
}

const noise: Attack = {
  name: "requests that would write much into the log",
  run: (means, count) => {
    const requests = noisyRequests(means)
    return keepUp(2, 300, means.stop, async () => count((await exchange(means, pick(requests))).outcome))
  }
}

export const attacks: ReadonlyArray<Attack> = [
  slowReaders,
  oneByteChunks,
  missingBodies,
  manyPrefixes,
  largeAnswers,
  noise
]
