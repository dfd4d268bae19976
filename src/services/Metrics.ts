import { counter, durationBoundaries, gauge, histogram } from "./Instrument.ts"

/*
 * Metrics of the services and of the layers below them. The listener's are in `http/metrics.ts`, and the process's in
 * `layers/telemetry/ProcessMetrics.ts`. Names are OpenTelemetry's where it has one. No label has values that callers
 * choose.
 */

/** `operation` is `search`, or `row` in a batch. Rows that were not dispatched have 0 s and the target `none`. */
export const searchDuration = histogram("quarry.search.duration", {
  description: "Searches and rows of batches by how they ended, from dispatch to answer",
  unit: "s",
  labels: ["operation", "target", "outcome", "cached"],
  boundaries: durationBoundaries
})

/** `outcome` is `ok` or the error's code. A tool's failure is a 200 of `/mcp`, so that no other metric shows it. */
export const toolCalls = counter("quarry.mcp.calls", {
  description: "Calls of the tools of /mcp by how they ended",
  unit: "{call}",
  labels: ["tool", "outcome"]
})

/** 1 while load balancers should send requests here (R54). */
export const processReady = gauge("quarry.ready", {
  description: "1 while this process takes requests: it has started and does not drain",
  unit: "{process}",
  labels: []
})

/** 1 where a check of `/readyz?full` was ok. */
export const readinessCheck = gauge("quarry.readiness.check", {
  description: "1 where the latest check was ok: that the database reads, that it would write",
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
  description: "Credits that were held and given back, because their searches were not chargeable",
  unit: "{credit}",
  labels: []
})

export const creditsDenied = counter("quarry.credits.refused", {
  description: "Credits that accounts asked for and did not have",
  unit: "{credit}",
  labels: []
})

/** `kind` is the kind of credential, or `none`. */
export const authentications = counter("quarry.authentications", {
  description: "Credentials judged",
  unit: "{request}",
  labels: ["kind", "outcome"]
})

export const cacheLookups = counter("quarry.cache.lookups", {
  description: "Looks into the result cache: hit, miss, or joined to the same search in flight",
  unit: "{lookup}",
  labels: ["result"]
})

/** `outcome` is `ok`, a reason of refusal, `abandoned` for an interrupted attempt, or `defect` for a bug of ours. */
export const providerDuration = histogram("quarry.provider.attempt.duration", {
  description: "Attempts at providers by how they ended",
  unit: "s",
  labels: ["provider", "engine", "outcome"],
  boundaries: durationBoundaries
})

export const providerWait = histogram("quarry.provider.wait.duration", {
  description: "Waits for a turn at a provider, within the bounds that the operator set",
  unit: "s",
  labels: ["provider"],
  boundaries: durationBoundaries
})

export const breakerState = gauge("quarry.provider.breaker", {
  description: "1 for the state that the provider's breaker is in, else 0",
  unit: "{breaker}",
  labels: ["provider", "engine", "state"]
})

export const batchSize = histogram("quarry.ledger.batch.size", {
  description: "Calls that one statement of the ledger carried",
  unit: "{call}",
  labels: ["operation"],
  boundaries: [1, 2, 4, 8, 16, 32, 64, 128, 256]
})

export const batchDuration = histogram("quarry.ledger.batch.duration", {
  description: "Statements of the ledger from sending to answer, with what was sent again",
  unit: "s",
  labels: ["operation", "outcome"],
  boundaries: durationBoundaries
})

export const batchRetries = counter("quarry.ledger.retries", {
  description: "Statements of the ledger that were sent again",
  unit: "{statement}",
  labels: ["operation"]
})

export const ledgerWaiting = gauge("quarry.ledger.waiting", {
  description: "Calls that wait for the ledger's statement before them",
  unit: "{call}",
  labels: ["operation"],
  across: "sum"
})

export const ledgerApart = gauge("quarry.ledger.apart", {
  description: "Accounts sent apart from the others, because somebody else has locked their rows",
  unit: "{account}",
  labels: ["operation"],
  across: "sum"
})

export const holdsOpen = gauge("quarry.ledger.holds", {
  description: "Holds in the database: of searches that run, and of crashed ones until the sweeper comes",
  unit: "{hold}",
  labels: []
})

export const holdsOverdue = gauge("quarry.ledger.holds.overdue", {
  description: "Holds in the database whose lease has run out",
  unit: "{hold}",
  labels: []
})

export const holdsSwept = counter("quarry.ledger.holds.swept", {
  description: "Holds whose lease ran out and whose credits this process gave back",
  unit: "{hold}",
  labels: []
})

export const ledgerChecks = counter("quarry.ledger.checks", {
  description: "Checks of the newest entries of the books",
  unit: "{check}",
  labels: ["outcome"]
})

/** `kind`, here and below, is the book that disagrees: `quota`, `balance` (of packs) or `log`. */
export const ledgerDiscrepancies = gauge("quarry.ledger.discrepancies", {
  description: "What did not add up in the last check of the newest entries of the books",
  unit: "{discrepancy}",
  labels: ["kind"]
})

export const ledgerProblems = gauge("quarry.ledger.verified.problems", {
  description: "What did not add up when all books were verified last",
  unit: "{discrepancy}",
  labels: ["kind"]
})

export const ledgerVerifiedAt = gauge("quarry.ledger.verified.time", {
  description: "Unix time at which the last verification of all books ended; 0 before the first",
  unit: "s",
  labels: []
})

export const ledgerVerifiedIn = gauge("quarry.ledger.verified.duration", {
  description: "Duration of the last verification of all books",
  unit: "s",
  labels: []
})

export const ledgerVerifiedAccounts = gauge("quarry.ledger.verified.accounts", {
  description: "Accounts in the last verification of all books",
  unit: "{account}",
  labels: []
})

export const clockSkew = gauge("quarry.clock.skew", {
  description: "Time by which this process's clock is ahead of the database's",
  unit: "s",
  labels: []
})

export const limiterDecisions = counter("quarry.limiter.decisions", {
  description: "Requests that the rate limiter admitted or refused",
  unit: "{request}",
  labels: ["caller", "decision"]
})

export const limiterLocal = gauge("quarry.limiter.local", {
  description: "1 while this process limits by itself because Redis is away, else 0",
  unit: "{process}",
  labels: []
})

export const limiterFallbacks = counter("quarry.limiter.fallbacks", {
  description: "Requests counted in this process because Redis was away",
  unit: "{request}",
  labels: []
})

/**
 * `error.type` is there for a failure only: Postgres's condition (`disk_full`, `read_only_sql_transaction`), Redis's code
 * (`OOM`, `READONLY`), `timeout`, or the class of the error.
 */
export const databaseDuration = histogram("db.client.operation.duration", {
  description: "Statements and commands, as this process waited for them",
  unit: "s",
  labels: ["db.system.name", "error.type"],
  boundaries: durationBoundaries
})

export const databaseWait = histogram("db.client.connection.wait_time", {
  description: "Waits for a free connection of the pool",
  unit: "s",
  labels: ["db.system.name"],
  boundaries: durationBoundaries
})

/** The name is not OpenTelemetry's `db.client.connection.count`, because Prometheus reserves `_count` for histograms. */
export const databaseConnections = gauge("quarry.database.connections.used", {
  description: "Connections of the pool in use",
  unit: "{connection}",
  labels: ["db.system.name"],
  across: "sum"
})

export const databasePending = gauge("db.client.connection.pending_requests", {
  description: "Statements and transactions that wait for a free connection",
  unit: "{request}",
  labels: ["db.system.name"],
  across: "sum"
})

export const databaseMax = gauge("db.client.connection.max", {
  description: "Connections that the pool may open",
  unit: "{connection}",
  labels: ["db.system.name"],
  across: "sum"
})

export const redisAway = gauge("quarry.redis.away", {
  description: "1 while the breaker before Redis is open, else 0",
  unit: "{process}",
  labels: []
})

/** `type` is the provider's name of the event; `outcome`: stored, repeated, ignored, refused, done, postponed. */
export const billingEvents = counter("quarry.billing.events", {
  description: "Deliveries of the payment provider by what became of them",
  unit: "{event}",
  labels: ["type", "outcome"]
})

export const billingInboxOldest = gauge("quarry.billing.inbox.oldest", {
  description: "Age of the oldest delivery whose work is not done; 0 where there is none",
  unit: "s",
  labels: []
})

/** `kind` as in `Drift`. Deliveries that do not come show here. */
export const billingDrift = counter("quarry.billing.drift", {
  description: "Differences between the books and the payment provider that a sweep found",
  unit: "{difference}",
  labels: ["kind"]
})

export const billingOwed = gauge("quarry.billing.owed_credits", {
  description: "Credits of refunded packs that were spent before, over all accounts",
  unit: "{credit}",
  labels: []
})

export const billingSweeps = counter("quarry.billing.sweeps", {
  description: "Sweeps that compared the books with the payment provider",
  unit: "{sweep}",
  labels: ["extent", "outcome"]
})

/** `channel`: webhook, email. `outcome`: delivered, postponed, given_up, disabled, lost. */
export const eventDeliveries = counter("quarry.events.deliveries", {
  description: "Attempts to deliver events to customers by what became of them",
  unit: "{attempt}",
  labels: ["channel", "outcome"]
})

/** Rises while a customer's receiver is down, which is no fault here. */
export const eventOldest = gauge("quarry.events.oldest", {
  description: "Age of the oldest event that is not delivered and not given up; 0 where there is none",
  unit: "s",
  labels: []
})

/** Rises when replicas do not make attempts that are due. */
export const eventOverdue = gauge("quarry.events.overdue", {
  description: "Time by which the most delayed attempt of a delivery is late; 0 where none is",
  unit: "s",
  labels: []
})

export const eventPending = gauge("quarry.events.pending", {
  description: "Deliveries of events that wait for an attempt or an answer",
  unit: "{delivery}",
  labels: []
})

/** `reason`: `closed`, `invite`, `domain` (R65), or `client` for too many sign-ups from one network in a day. */
export const signUpsDenied = counter("quarry.sign_ups.refused", {
  description: "Sign-ups refused by the operator's settings or the limit of a client's network",
  unit: "{sign_up}",
  labels: ["reason"]
})

/**
 * `reason`: `account` for a client's wrong passwords for one account, `client` for those of its network for all accounts
 * (R66), `busy` where as many passwords wait to be compared as may.
 */
export const signInsDenied = counter("quarry.sign_ins.refused", {
  description: "Passwords that were neither compared nor stored",
  unit: "{sign_in}",
  labels: ["reason"]
})

/** `kind`: `reset`, `confirmation`. `reason`: the limit of the `client` or of the `mailbox`. */
export const emailsSuppressed = counter("quarry.emails.suppressed", {
  description: "Emails of sign-in that were not sent, because a limit was reached",
  unit: "{email}",
  labels: ["kind", "reason"]
})

/** `reason` as in `DropReason`. */
export const eventDrops = counter("quarry.events.dropped", {
  description: "Deliveries of events that were dropped before they were made, by why",
  unit: "{delivery}",
  labels: ["reason"]
})

export const eventAccountsCapped = gauge("quarry.events.accounts.capped", {
  description: "Accounts with due deliveries that wait because the account has its share of the slots",
  unit: "{account}",
  labels: []
})
