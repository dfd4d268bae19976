import type {
  Account,
  BulkLine,
  BulkRequest,
  BulkResult,
  BulkRow,
  PageParameters,
  PageResult,
  PageRow,
  PagesLine,
  PagesRequest,
  PagesResult,
  SearchParameters,
  SearchResult
} from "./api.ts"
import { Call, type CallOptions, type Clock } from "./Call.ts"
import type { Meta } from "./meta.ts"
import { type Connection, type Outgoing, readText, send } from "./send.ts"
import { streamLines } from "./stream.ts"

/** The parameters of a search. Domains may be a list; the request has them with commas. */
export interface SearchInput extends Omit<SearchParameters, "include_domains" | "exclude_domains"> {
  readonly include_domains?: string | ReadonlyArray<string> | undefined
  readonly exclude_domains?: string | ReadonlyArray<string> | undefined
}

export interface QuarryOptions {
  /** The address of the deployment, such as `https://search.example.org`. */
  readonly baseUrl: string
  /** The secret of an API key. */
  readonly apiKey?: string | undefined
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Stands in for the platform's `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Of calls that give none. Without it 60 s, and 180 s for `bulk`. */
  readonly timeoutMs?: number | undefined
  /** Of calls that give none. Without it 5. */
  readonly maxRetries?: number | undefined
  /** Gets the credits and limits of each answer. */
  readonly onAnswer?: ((meta: Meta) => void) | undefined
  /** Stands in for the platform's clock. */
  readonly clock?: Clock | undefined
}

/** The queries of a batch, or its whole body. */
export type Batch = ReadonlyArray<string | BulkRow> | BulkRequest

/** The addresses of a batch of pages, or its whole body. */
export type PageBatch = ReadonlyArray<string | PageRow> | PagesRequest

/** The calls of the API. Each fails with a `QuarryError`. */
export interface Quarry {
  /** Runs one search. */
  readonly query: (search: string | SearchInput, options?: CallOptions) => Promise<SearchResult>
  /** Runs up to 50 searches, which are answered together. A row that fails is an error row. */
  readonly bulk: (batch: Batch, options?: CallOptions) => Promise<BulkResult>
  /**
   * Runs up to 50 searches, which are answered line by line as they finish. Whoever leaves the loop stops the rows that
   * have not started. With an `idempotencyKey` a stream that is cut goes on; the server then sends the lines together.
   */
  readonly stream: (batch: Batch, options?: CallOptions) => AsyncGenerator<BulkLine, void>
  /** Reads the text of one page. A page that cannot be read fails with `page_unreadable` and its `reason`, and is free. */
  readonly page: (page: string | PageParameters, options?: CallOptions) => Promise<PageResult>
  /** Reads up to 20 pages, which are returned together. A page that cannot be read is an error row. */
  readonly pages: (batch: PageBatch, options?: CallOptions) => Promise<PagesResult>
  /** Reads up to 20 pages and returns each as it is read. Otherwise the same as `stream`. */
  readonly pagesStream: (batch: PageBatch, options?: CallOptions) => AsyncGenerator<PagesLine, void>
  /** The account behind the key. Costs nothing. */
  readonly me: (options?: CallOptions) => Promise<Account>
  /** The credits and limits of the answer that came last. */
  readonly last: Meta | undefined
}

const defaultTimeoutMs = 60_000
const defaultBulkTimeoutMs = 180_000
const defaultMaxRetries = 5

/** Longer timers end at once. */
const maxTimerMs = 2 ** 31 - 1

const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, Math.min(ms, maxTimerMs))
    return () => clearTimeout(timer)
  }
}

/** Made without `randomUUID`, which pages without https lack. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("")

const connectionOf = ({ apiKey, baseUrl, clock = systemClock, fetch, headers }: QuarryOptions): Connection => {
  if (!/^(https?:\/\/|\/|$)/.test(baseUrl))
    throw new TypeError("baseUrl is not an address such as https://example.org.")
  const key = apiKey?.trim()
  // The platform's error about such a header would have the secret in its message.
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) throw new TypeError("apiKey is not the text of a key.")
  const credential = key === undefined ? {} : { authorization: `Bearer ${key}` }
  return { baseUrl: baseUrl.replace(/\/+$/, ""), headers: { ...headers, ...credential }, fetch, clock }
}

const pathOf = (path: string, fields: object): string => {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) parameters.set(name, String(value))
  }
  return `${path}?${parameters}`
}

const searchPath = (search: string | SearchInput): string => {
  if (typeof search !== "string" && Object(search) !== search)
    throw new TypeError("A search is a text, or an object with a query.")
  return pathOf("/v1/query", typeof search === "string" ? { query: search } : search)
}

const pagePath = (page: string | PageParameters): string => {
  if (typeof page !== "string" && Object(page) !== page)
    throw new TypeError("A page is an address, or an object with a url.")
  return pathOf("/v1/page", typeof page === "string" ? { url: page } : page)
}

const batchOf = (batch: Batch) => {
  if (Object(batch) !== batch) throw new TypeError("A batch is an array of queries, or an object with queries.")
  return { path: "/v1/bulk", body: JSON.stringify("queries" in batch ? batch : { queries: batch }) }
}

const pageBatchOf = (batch: PageBatch) => {
  if (Object(batch) !== batch) throw new TypeError("A batch is an array of addresses, or an object with urls.")
  return { path: "/v1/pages", body: JSON.stringify("urls" in batch ? batch : { urls: batch }) }
}

const json = { "content-type": "application/json" }

type Asked<A> = Omit<Outgoing<A>, "read" | "onAnswer"> & {
  /** A field of every answer. Without it something else than Quarry answered, and its type would be wrong. */
  readonly field?: keyof A & string
}

/** A client of one deployment. */
export const createQuarry = (options: QuarryOptions): Quarry => {
  const connection = connectionOf(options)
  let last: Meta | undefined

  const begin = (given: CallOptions, idempotencyKey: string | undefined, timeoutMs = defaultTimeoutMs): Call =>
    new Call(connection.clock, idempotencyKey, {
      signal: given.signal,
      timeoutMs: given.timeoutMs ?? options.timeoutMs ?? timeoutMs,
      maxRetries: given.maxRetries ?? options.maxRetries ?? defaultMaxRetries
    })

  const reportTo = (given: CallOptions) => (meta: Meta) => {
    last = meta
    options.onAnswer?.(meta)
    given.onAnswer?.(meta)
  }

  const answer = async <A>(call: Call, given: CallOptions, { field, ...outgoing }: Asked<A>) => {
    try {
      const read = async (response: Response) => {
        const value = JSON.parse(await readText(response))
        if (Object(value) !== value || (field !== undefined && !(field in value)))
          throw new TypeError(`The body has no field ${field}`)
        return value as A // A 200 of Quarry has what the document says.
      }
      return await send<A>(connection, call, { ...outgoing, read, onAnswer: reportTo(given) })
    } finally {
      call.end()
    }
  }

  const answerBatch = async <A extends { readonly results: unknown }>(
    outgoing: { readonly path: string; readonly body: string },
    given: CallOptions
  ) => {
    const call = begin(given, given.idempotencyKey ?? newKey(), defaultBulkTimeoutMs)
    return answer<A>(call, given, { ...outgoing, headers: json, field: "results" })
  }

  const lines = <L extends BulkLine | PagesLine>(
    batch: { readonly path: string; readonly body: string },
    given: CallOptions
  ) => {
    const headers = { ...json, accept: "application/x-ndjson" }
    const outgoing = { ...batch, headers, onAnswer: reportTo(given) }
    return streamLines<L>(connection, begin(given, given.idempotencyKey), outgoing)
  }

  // Requests are serialized before a call starts its timer: what cannot be serialized rejects, and leaves nothing behind.
  return {
    async query(search, given = {}) {
      const path = searchPath(search)
      return answer<SearchResult>(begin(given, given.idempotencyKey ?? newKey()), given, { path, field: "results" })
    },
    async bulk(batch, given = {}) {
      return answerBatch<BulkResult>(batchOf(batch), given)
    },
    async *stream(batch, given = {}) {
      yield* lines<BulkLine>(batchOf(batch), given)
    },
    async page(page, given = {}) {
      const path = pagePath(page)
      return answer<PageResult>(begin(given, given.idempotencyKey ?? newKey()), given, { path, field: "content" })
    },
    async pages(batch, given = {}) {
      return answerBatch<PagesResult>(pageBatchOf(batch), given)
    },
    async *pagesStream(batch, given = {}) {
      yield* lines<PagesLine>(pageBatchOf(batch), given)
    },
    me: (given = {}) =>
      answer<Account>(begin(given, undefined), given, { path: "/v1/me", isFree: true, field: "plan" }),
    get last() {
      return last
    }
  }
}
