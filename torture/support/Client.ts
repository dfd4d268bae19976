import * as http from "node:http"
import * as https from "node:https"
import { Effect } from "effect"

/** A requested search, alone or in a batch, identified by its unique query. */
export interface Asked {
  readonly query: string
  /** The result that the caller received. Undefined if there was no complete response. */
  readonly outcome: "ok" | "upstream_error" | "upstream_timeout" | "refused" | undefined
}

export interface Answer {
  /** Status of a complete response. Undefined if the connection ended before. */
  readonly status: number | undefined
  /** The connection error, or the code of an error response. */
  readonly error: string | undefined
  /** The cost stated in the response. */
  readonly creditsUsed: number | undefined
  readonly asked: ReadonlyArray<Asked>
  readonly elapsedMs: number
  /** Milliseconds on this process's monotonic clock. */
  readonly startedAt: number
  readonly endedAt: number
}

const outcomes = { ok: "ok", upstream_error: "upstream_error", upstream_timeout: "upstream_timeout" } as const

const outcomeOf = (code: string): Asked["outcome"] =>
  code in outcomes ? outcomes[code as keyof typeof outcomes] : "refused"

interface Row {
  readonly status: string
  readonly error?: string
  readonly message?: string
}

interface Body {
  readonly error?: string
  /** A truncated streamed batch lacks some of its rows. */
  readonly results?: ReadonlyArray<Row | undefined>
}

/** A row reported as not started was not dispatched. */
const rowOutcome = (row: Row | undefined) =>
  row === undefined || /before this row started/.test(row.message ?? "")
    ? "refused"
    : outcomeOf(row.error ?? row.status)

/** The error of a truncated response. */
export const cutOff = "the answer was cut off"

const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return "code" in error ? String(error.code) : error.message
}

const since = (startedAt: number) => {
  const endedAt = performance.now()
  return { startedAt, endedAt, elapsedMs: endedAt - startedAt }
}

/** Parses a body. A proxy's own error is HTML, and is ignored. */
const parse = (text: string): Body => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

type Line =
  | { readonly type: "batch" }
  | ({ readonly type: "row"; readonly index: number } & Row)
  | { readonly type: "summary"; readonly credits_used: number }

const linesType = "application/x-ndjson"

/** Parses the rows of a streamed batch. A truncated one has no summary, and may end with a partial line. */
const parseLines = (text: string) => {
  const results: Array<Row | undefined> = []
  let creditsUsed: number | undefined
  for (const part of text.split("\n").slice(0, -1)) {
    if (part === "") continue
    const line: Line = JSON.parse(part)
    if (line.type === "row") results[line.index] = line
    if (line.type === "summary") creditsUsed = line.credits_used
  }
  return { creditsUsed, body: { results }, isWhole: creditsUsed !== undefined }
}

interface Received {
  /** Undefined for a truncated streamed batch. */
  readonly status: number | undefined
  readonly creditsUsed: number | undefined
  readonly body: Body
}

/** A batch's body arrives as a whole, or row by row (R46). */
export type Form = "whole" | "lines"

export interface Client {
  readonly search: (url: string, secret: string, query: string) => Effect.Effect<Answer>
  readonly batch: (url: string, secret: string, queries: ReadonlyArray<string>, form?: Form) => Effect.Effect<Answer>
}

/** A client with persistent connections and one request at a time on each. Accepts any certificate. */
export const make = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const options = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY }
      return { http: new http.Agent(options), https: new https.Agent({ ...options, rejectUnauthorized: false }) }
    }),
    (agents) =>
      Effect.sync(() => {
        agents.http.destroy()
        agents.https.destroy()
      })
  ),
  (agents): Client => {
    const exchange = (url: string, secret: string, body: string | undefined, form: Form): Promise<Received> =>
      new Promise((resolve, reject) => {
        const [send, agent] = url.startsWith("https:") ? [https.request, agents.https] : [http.request, agents.http]
        const request = send(url, {
          agent,
          method: body === undefined ? "GET" : "POST",
          headers: {
            authorization: `Bearer ${secret}`,
            ...(form === "lines" ? { accept: linesType } : {}),
            ...(body === undefined
              ? {}
              : { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
          }
        })
        request.on("error", reject).on("response", (response) => {
          const chunks: Array<Buffer> = []
          response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", reject)
          response.on("close", () => {
            if (response.headers["content-type"] === linesType) {
              const { body, creditsUsed, isWhole } = parseLines(Buffer.concat(chunks).toString("utf8"))
              return resolve({ status: isWhole ? response.statusCode : undefined, creditsUsed, body })
            }
            if (!response.complete) return reject(new Error(cutOff))
            const used = response.headers["x-credits-used"]
            resolve({
              status: response.statusCode ?? 0,
              creditsUsed: used === undefined ? undefined : Number(used),
              body: parse(Buffer.concat(chunks).toString("utf8"))
            })
          })
        })
        request.end(body)
      })

    const ask = (
      url: string,
      secret: string,
      body: string | undefined,
      told: (received: Received) => ReadonlyArray<Asked>,
      queries: ReadonlyArray<string>,
      form: Form = "whole"
    ): Effect.Effect<Answer> =>
      Effect.promise(async () => {
        const startedAt = performance.now()
        try {
          const received = await exchange(url, secret, body, form)
          return {
            status: received.status,
            error: received.status === undefined ? cutOff : received.body.error,
            creditsUsed: received.creditsUsed,
            asked: told(received),
            ...since(startedAt)
          }
        } catch (error) {
          return {
            status: undefined,
            error: messageOf(error),
            creditsUsed: undefined,
            asked: queries.map((query) => ({ query, outcome: undefined })),
            ...since(startedAt)
          }
        }
      })

    return {
      search: (url, secret, query) =>
        ask(
          `${url}/v1/query?query=${encodeURIComponent(query)}`,
          secret,
          undefined,
          ({ body, status }) => [{ query, outcome: status === 200 ? "ok" : outcomeOf(body.error ?? "") }],
          [query]
        ),
      batch: (url, secret, queries, form) =>
        ask(
          `${url}/v1/bulk`,
          secret,
          JSON.stringify({ queries }),
          ({ body, status }) =>
            queries.map((query, index) => {
              const row = body.results?.[index]
              if (status === undefined && row === undefined) return { query, outcome: undefined }
              return { query, outcome: status === undefined || status === 200 ? rowOutcome(row) : "refused" }
            }),
          queries,
          form
        )
    }
  }
)
