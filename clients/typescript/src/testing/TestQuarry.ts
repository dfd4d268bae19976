import type { OrganicResult, PageResult, PageUnreadable, Plan, SearchParameters, SearchResult } from "../api.ts"
import type { Clock } from "../Call.ts"
import type { Quarry, QuarryOptions } from "../client.ts"

/** A search as the service runs it: decoded, with its defaults. */
export interface TestSearch extends Pick<SearchResult, "target" | "query" | "geo" | "locale" | "page"> {
  readonly num: number
  readonly safe: "off" | "moderate" | "strict"
  /** The search options; absent without any. Domains are sorted. */
  readonly options?: TestOptions | undefined
}

export interface TestOptions extends Pick<SearchParameters, "freshness" | "after" | "before"> {
  readonly includeDomains?: ReadonlyArray<string> | undefined
  readonly excludeDomains?: ReadonlyArray<string> | undefined
  /** Absent for `web`. */
  readonly topic?: "news" | undefined
}

/** A result of a search. The service ranks them and leaves out those with the same address. */
export interface TestResult extends Pick<OrganicResult, "title" | "url"> {
  readonly snippet?: string
}

/** The end of a search: results, a provider that fails, or one that never answers, which is a timeout after 15 s. */
export type TestAnswer = ReadonlyArray<TestResult> | "upstream_error" | "never"

/** A page of the web. `text` is `content` without Markdown; the same as `content` if absent. */
export interface TestPage extends Pick<PageResult, "content">, Partial<Omit<PageMetadata, "url">> {
  readonly text?: string
}

type PageMetadata = Omit<PageResult, "id" | "content" | "format" | "start" | "characters" | "truncated" | "fetched_at">

/** A page, the reason why it cannot be read, or a site that never answers, which is `timed_out` after 15 s. */
export type TestPageAnswer = TestPage | PageUnreadable["reason"] | "never"

export interface TestQuarryOptions {
  /** Without it `trial`, with its 100 credits. */
  readonly plan?: Plan
  /** Credits of a period, in place of the plan's. The plan `custom` needs them. */
  readonly quota?: number
  /** Pack credits. */
  readonly balance?: number
  /**
   * Answers the searches that the cache does not; without it each has three results. An exception is an `internal_error`.
   * It may wait by the test's clock, and for nothing else.
   */
  readonly search?: (search: TestSearch) => TestAnswer | Promise<TestAnswer>
  /**
   * The web: the page at an address. Without it every page is `unreachable`. Pages are cached as searches are, and it may
   * wait by the test's clock alone.
   */
  readonly page?: (url: string) => TestPageAnswer | Promise<TestPageAnswer>
  /** The time for which answers are cached; 0 for none. Without it five minutes. */
  readonly cacheTtlMs?: number
  /** Unix milliseconds at the start. Without it 1 January 2026. */
  readonly now?: number
  /** Origins of pages that may call the service from a browser. */
  readonly corsOrigins?: ReadonlyArray<string>
}

/**
 * A failure of the network around one request. `unsent`: it never arrives. `lost`: it is served, and the answer gets
 * lost. `hang`: it never arrives, and nobody says so. Otherwise the answer breaks off after so many bytes.
 */
export type Fault = "unsent" | "lost" | "hang" | { readonly cutAfterBytes: number }

export interface TestAccount {
  readonly plan: Plan
  /** Credits of the period, and those of them that are spent. */
  readonly quota: number
  readonly used: number
  /** Pack credits left. */
  readonly balance: number
}

export interface ChargedSearch {
  readonly id: string
  readonly query: string
  readonly outcome: "ok" | "upstream_error" | "upstream_timeout"
  readonly credits: number
  /** True where the cache had the answer. */
  readonly cached: boolean
}

export interface ChargedPage {
  readonly id: string
  readonly url: string
  readonly outcome: "ok"
  readonly credits: number
  readonly cached: boolean
}

/** The clock of a service and of its clients, which only the test moves. */
export interface TestClock extends Clock {
  readonly sleep: (ms: number) => Promise<void>
  /** Moves the clock. Whatever was to happen in this time has happened when it resolves. */
  readonly advance: (ms: number) => Promise<void>
  /** Moves the clock until a promise has ended, and answers it. */
  readonly run: <A>(promise: Promise<A>) => Promise<A>
}

/** Quarry without a server: its own validation, ledger, limiter and cache, in this process. */
export interface TestQuarry {
  readonly baseUrl: string
  /** The secret of the account's key. */
  readonly apiKey: string
  /** Answers requests as the service does. */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
  readonly clock: TestClock
  /** A client of this service, by the test's clock. */
  readonly client: (options?: Partial<QuarryOptions>) => Quarry
  /** Lets the next requests fail, one fault each. Faults of an earlier call that no request has met are dropped. */
  readonly break: (...faults: ReadonlyArray<Fault>) => void
  readonly account: () => Promise<TestAccount>
  /** Adds pack credits. */
  readonly grant: (credits: number) => Promise<void>
  /** The searches that were charged, the latest first: the query log. */
  readonly charged: () => Promise<ReadonlyArray<ChargedSearch>>
  /** The pages that were charged, the latest first. */
  readonly chargedPages: () => Promise<ReadonlyArray<ChargedPage>>
  readonly close: () => Promise<void>
}
