import * as http from "node:http"
import * as https from "node:https"
import { Effect } from "effect"

/** One search that was asked for, alone or in a batch, by its query, which is unique in a run. */
export interface Asked {
  readonly query: string
  /** What the caller was told of it; undefined when no whole answer came. */
  readonly outcome: "ok" | "upstream_error" | "upstream_timeout" | "refused" | undefined
}

export interface Answer {
  /** The status of a whole answer; undefined when the connection ended before. */
  readonly status: number | undefined
  /** What broke the connection, or the code of an error. */
  readonly error: string | undefined
  /** What the answer said it cost. */
  readonly creditsUsed: number | undefined
  readonly asked: ReadonlyArray<Asked>
  readonly elapsedMs: number
  /** On the monotonic clock of this process, in milliseconds. */
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
  /** A streamed batch that was cut has not all of its rows. */
  readonly results?: ReadonlyArray<Row | undefined>
}

/** A row of a batch that was told not to have been started was not dispatched. */
const rowOutcome = (row: Row | undefined) =>
  row === undefined || /before this row started/.test(row.message ?? "")
    ? "refused"
    : outcomeOf(row.error ?? row.status)

/** The error of an answer that began and did not end. */
export const cutOff = "the answer was cut off"

const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return "code" in error ? String(error.code) : error.message
}

const since = (startedAt: number) => {
  const endedAt = performance.now()
  return { startedAt, endedAt, elapsedMs: endedAt - startedAt }
}

/** A proxy's own error is HTML: nothing in it is read. */
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

/** The rows of a streamed batch. One that was cut has no summary, and perhaps a part of a line at its end. */
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
  /** Undefined for a streamed batch that was cut. */
  readonly status: number | undefined
  readonly creditsUsed: number | undefined
  readonly body: Body
}

/** A batch's body comes whole, or row by row as rows finish (R46). */
export type Form = "whole" | "lines"

export interface Client {
  readonly search: (url: string, secret: string, query: string) => Effect.Effect<Answer>
  readonly batch: (url: string, secret: string, queries: ReadonlyArray<string>, form?: Form) => Effect.Effect<Answer>
}

/** A client that keeps its connections, and one request on each at a time. It trusts any certificate. */
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
