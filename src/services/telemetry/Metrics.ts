import { counter, gauge, histogram } from "./Instrument.ts"

/*
 * Metrics of services and layers. HTTP metrics are in `http/responses/metrics.ts`, those of the process in
 * `layers/telemetry/ProcessMetrics.ts`. Names follow OpenTelemetry where it defines one. Callers must not be able to
 * choose label values.
 */

/** `operation` is `search`, or `row` in a batch. Rows that were not dispatched have 0 s and the target `none`. */
export const searchDuration = histogram("quarry.search.duration", {
  description: "Duration of searches and batch rows, from dispatch to response",
  unit: "s",
  labels: ["operation", "target", "outcome", "cached"]
})

/** One search can have several reasons: its providers may differ. */
export const searchesUnsent = counter("quarry.search.unsent", {
  description: "Searches and batch rows for which no provider was asked (R76), by reason: cool_down, busy or unserved",
  unit: "{search}",
  labels: ["target", "reason"]
})

/** `operation` is `page`, or `row` in a batch. `outcome` is `ok` or the reason why the page was not read (R59). */
export const pageDuration = histogram("quarry.page.duration", {
  description: "Duration of page reads and rows of page batches, from dispatch to response",
  unit: "s",
  labels: ["operation", "outcome", "cached"]
})

/** `outcome` is `ok` or the error code. Tool failures are responses with status 200, so no other metric shows them. */
export const toolCalls = counter("quarry.mcp.calls", {
  description: "Tool calls to /mcp by outcome",
  unit: "{call}",
  labels: ["tool", "outcome"]
})

/** `version` is the protocol version that a message declares, or `none`. */
export const mcpMessages = counter("quarry.mcp.messages", {
  description: "Messages to /mcp by method and protocol version",
  unit: "{message}",
  labels: ["method", "version"]
})

export const processReady = gauge("quarry.ready", {
  description: "1 while this process accepts requests: it has started and is not draining",
  unit: "{process}"
})

export const readinessCheck = gauge("quarry.readiness.check", {
  description: "1 if the latest check succeeded, such as reading from the database",
  unit: "{check}",
  labels: ["check"],
  across: "least"
})

export const creditsCharged = counter("quarry.credits.charged", {
  description: "Credits charged",
  unit: "{credit}",
  labels: ["target"]
})

export const creditsReturned = counter("quarry.credits.returned", {
  description: "Held credits that were returned because nothing was charged",
  unit: "{credit}"
})

export const creditsDenied = counter("quarry.credits.refused", {
  description: "Credits requested by accounts that did not have them",
  unit: "{credit}"
})

export const authentications = counter("quarry.authentications", {
  description: "Authentication attempts",
  unit: "{request}",
  labels: ["kind", "outcome"]
})

export const cacheLookups = counter("quarry.cache.lookups", {
  description: "Result cache lookups: hit, miss, or joined to an identical running search",
  unit: "{lookup}",
  labels: ["result"]
})

/** `outcome` is `ok`, a refusal reason, `abandoned` for an interrupted attempt, or `defect` for a bug in Quarry. */
export const providerDuration = histogram("quarry.provider.attempt.duration", {
  description: "Duration of provider attempts by outcome",
  unit: "s",
  labels: ["provider", "engine", "outcome"]
})

export const providerWait = histogram("quarry.provider.wait.duration", {
  description: "Time spent waiting for a provider's call limit",
  unit: "s",
  labels: ["provider"]
})

/** `outcome` is `ok`, the reason of a failure, `cool_down`, or `no_time` if the provider used up the search's time. */
export const rerankDuration = histogram("quarry.rerank.duration", {
  description: "Duration of reranking by outcome",
  unit: "s",
  labels: ["target", "type", "outcome"]
})

export const breakerState = gauge("quarry.provider.breaker", {
  description: "1 for the current state of the provider's circuit breaker, else 0",
  unit: "{breaker}",
  labels: ["provider", "engine", "state"]
})

export const batchSize = histogram("quarry.ledger.batch.size", {
  description: "Calls per ledger statement",
  unit: "{call}",
  labels: ["operation"],
  boundaries: [1, 2, 4, 8, 16, 32, 64, 128, 256]
})

export const batchDuration = histogram("quarry.ledger.batch.duration", {
  description: "Duration of ledger statements, including retries",
  unit: "s",
  labels: ["operation", "outcome"]
})

export const batchRetries = counter("quarry.ledger.retries", {
  description: "Retried ledger statements",
  unit: "{statement}",
  labels: ["operation"]
})

export const ledgerWaiting = gauge("quarry.ledger.waiting", {
  description: "Calls waiting for an earlier ledger statement",
  unit: "{call}",
  labels: ["operation"],
  across: "sum"
})

export const ledgerApart = gauge("quarry.ledger.apart", {
  description: "Accounts handled in separate statements because their rows are locked",
  unit: "{account}",
  labels: ["operation"],
  across: "sum"
})

export const holdsOpen = gauge("quarry.ledger.holds", {
  description: "Holds in the database, of running searches and of crashed ones until the sweeper returns them",
  unit: "{hold}"
})

export const holdsOverdue = gauge("quarry.ledger.holds.overdue", {
  description: "Holds in the database whose lease has expired",
  unit: "{hold}"
})

export const holdsSwept = counter("quarry.ledger.holds.swept", {
  description: "Holds with an expired lease whose credits this process returned",
  unit: "{hold}"
})

export const ledgerChecks = counter("quarry.ledger.checks", {
  description: "Checks of the latest ledger entries",
  unit: "{check}",
  labels: ["outcome"]
})

/** `kind`, here and below, is the book that disagrees: `quota`, `balance` (of packs), `log`, or `closed` for months. */
export const ledgerDiscrepancies = gauge("quarry.ledger.discrepancies", {
  description: "Discrepancies found by the last check of the latest ledger entries",
  unit: "{discrepancy}",
  labels: ["kind"]
})

export const ledgerProblems = gauge("quarry.ledger.verified.problems", {
  description: "Discrepancies found by the last full verification",
  unit: "{discrepancy}",
  labels: ["kind"]
})

export const ledgerVerifiedAt = gauge("quarry.ledger.verified.time", {
  description: "Unix time at which the last full verification ended; 0 before the first",
  unit: "s"
})

export const ledgerVerifiedIn = gauge("quarry.ledger.verified.duration", {
  description: "Duration of the last full verification",
  unit: "s"
})

export const ledgerVerifiedAccounts = gauge("quarry.ledger.verified.accounts", {
  description: "Accounts in the last full verification",
  unit: "{account}"
})

export const logMonthsDropped = counter("quarry.log.months.dropped", {
  description: "Query log months older than the retention that this process dropped",
  unit: "{month}"
})

export const clockSkew = gauge("quarry.clock.skew", {
  description: "Time by which this process's clock is ahead of the database's",
  unit: "s"
})

export const limiterDecisions = counter("quarry.limiter.decisions", {
  description: "Requests that the rate limiter admitted or rejected",
  unit: "{request}",
  labels: ["caller", "decision"]
})

export const limiterLocal = gauge("quarry.limiter.local", {
  description: "1 while this process counts requests itself because Redis is unreachable, else 0",
  unit: "{process}"
})

export const limiterFallbacks = counter("quarry.limiter.fallbacks", {
  description: "Requests counted in this process because Redis was unreachable",
  unit: "{request}"
})

/** `error.type` (failures only): a condition of Postgres, a code of Redis, `timeout`, or the error's class. */
export const databaseDuration = histogram("db.client.operation.duration", {
  description: "Duration of statements and commands as seen by this process",
  unit: "s",
  labels: ["db.system.name", "error.type"]
})

export const databaseWait = histogram("db.client.connection.wait_time", {
  description: "Time spent waiting for a free pool connection",
  unit: "s",
  labels: ["db.system.name"]
})

/** Not named `db.client.connection.count` as in OpenTelemetry, because Prometheus reserves `_count` for histograms. */
export const databaseConnections = gauge("quarry.database.connections.used", {
  description: "Pool connections in use",
  unit: "{connection}",
  labels: ["db.system.name"],
  across: "sum"
})

export const databasePending = gauge("db.client.connection.pending_requests", {
  description: "Statements and transactions waiting for a free connection",
  unit: "{request}",
  labels: ["db.system.name"],
  across: "sum"
})

export const databaseMax = gauge("db.client.connection.max", {
  description: "Maximum number of pool connections",
  unit: "{connection}",
  labels: ["db.system.name"],
  across: "sum"
})

export const redisAway = gauge("quarry.redis.away", {
  description: "1 while the circuit breaker for Redis is open, else 0",
  unit: "{process}"
})

/** `type` is the provider's event name; `outcome`: stored, repeated, ignored, refused, done, postponed. */
export const billingEvents = counter("quarry.billing.events", {
  description: "Payment provider webhook deliveries by outcome",
  unit: "{event}",
  labels: ["type", "outcome"]
})

export const billingInboxOldest = gauge("quarry.billing.inbox.oldest", {
  description: "Age of the oldest unprocessed payment provider delivery; 0 if there is none",
  unit: "s"
})

/** `kind` as in `Drift`. Lost deliveries show up here. */
export const billingDrift = counter("quarry.billing.drift", {
  description: "Differences between the books and the payment provider that a sweep found",
  unit: "{difference}",
  labels: ["kind"]
})

export const billingOwed = gauge("quarry.billing.owed_credits", {
  description: "Spent credits of refunded packs, over all accounts",
  unit: "{credit}"
})

export const billingSweeps = counter("quarry.billing.sweeps", {
  description: "Sweeps that compared the books with the payment provider",
  unit: "{sweep}",
  labels: ["extent", "outcome"]
})

/** `channel`: webhook, email. `outcome`: delivered, postponed, given_up, disabled, lost. */
export const eventDeliveries = counter("quarry.events.deliveries", {
  description: "Event delivery attempts by outcome",
  unit: "{attempt}",
  labels: ["channel", "outcome"]
})

/** Also rises while a customer's endpoint is down. */
export const eventOldest = gauge("quarry.events.oldest", {
  description: "Age of the oldest event still awaiting delivery; 0 if there is none",
  unit: "s"
})

/** Rises if replicas do not make attempts on time. */
export const eventOverdue = gauge("quarry.events.overdue", {
  description: "Delay of the most overdue delivery attempt; 0 if none is overdue",
  unit: "s"
})

export const eventPending = gauge("quarry.events.pending", {
  description: "Event deliveries waiting for an attempt or a response",
  unit: "{delivery}"
})

/** `reason`: `closed`, `invite`, `domain` (R65), or `client` for too many sign-ups from one network per day. */
export const signUpsDenied = counter("quarry.sign_ups.refused", {
  description: "Sign-ups rejected by the operator's settings or by a network's limit",
  unit: "{sign_up}",
  labels: ["reason"]
})

/**
 * `reason`: `account` or `client` for too many wrong passwords for one account or from one network (R66), `busy` if too
 * many passwords are waiting to be compared.
 */
export const signInsDenied = counter("quarry.sign_ins.refused", {
  description: "Passwords rejected without being compared or stored",
  unit: "{sign_in}",
  labels: ["reason"]
})

/** `kind`: `reset`, `confirmation`. `reason`: the limit of the `client` or of the `mailbox`. */
export const emailsSuppressed = counter("quarry.emails.suppressed", {
  description: "Sign-in emails not sent because a limit was reached",
  unit: "{email}",
  labels: ["kind", "reason"]
})

/** `reason` as in `DropReason`. */
export const eventDrops = counter("quarry.events.dropped", {
  description: "Event deliveries dropped before they were made, by reason",
  unit: "{delivery}",
  labels: ["reason"]
})

export const eventAccountsCapped = gauge("quarry.events.accounts.capped", {
  description: "Accounts whose due deliveries wait because the account uses its share of the slots",
  unit: "{account}"
})

export const pageParseDuration = histogram("quarry.pages.parse.duration", {
  description: "Time to parse a document, without waiting for a parser",
  unit: "s",
  labels: ["outcome"]
})

export const pageParserWaiting = gauge("quarry.pages.parser.waiting", {
  description: "Documents waiting for a parser",
  unit: "{document}",
  across: "sum"
})

export const pageParserLimited = counter("quarry.pages.parser.limited", {
  description: "Pages that were not read because their account used the parser too much without paying (R83)",
  unit: "{page}"
})

/** `reason`: `time` or `memory` (limit exceeded), `abandoned` (the caller left), or `crashed`. */
export const pageParserRestarts = counter("quarry.pages.parser.restarts", {
  description: "Parser threads stopped while parsing a document",
  unit: "{restart}",
  labels: ["reason"]
})
