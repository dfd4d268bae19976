import {
  DatasourceVariableBuilder,
  PanelBuilder,
  TextBoxVariableBuilder
} from "@grafana/grafana-foundation-sdk/dashboard"
import * as text from "@grafana/grafana-foundation-sdk/text"
import { type Board, jaeger, type Line, type Panel, query, valuesOf } from "./grafana.ts"

const panel = (
  title: string,
  unit: string,
  tells: string,
  ...lines: ReadonlyArray<readonly [string, string]>
): Panel => ({
  title,
  unit,
  tells,
  kind: "timeseries",
  lines: lines.map(([expr, legend]): Line => ({ expr, legend }))
})

const rate = (series: string) => `rate(${series}[$__rate_interval])`

/** A percentile of a histogram over all replicas, grouped by `by`. `matchers` go inside the braces. */
const percentile = (share: number, histogram: string, by: string, matchers = "") =>
  `histogram_quantile(${share}, sum by (${by === "" ? "le" : `le, ${by}`}) (${rate(`${histogram}_bucket{${matchers}}`)}))`

const searched = "quarry_search_duration_seconds"
const attempted = "quarry_provider_attempt_duration_seconds"
const requested = "http_server_request_duration_seconds"
const stated = "db_client_operation_duration_seconds"
const batched = "quarry_ledger_batch_duration_seconds"

const whoIsSlow = panel(
  "Who is slow: 95 of 100 take at most",
  "s",
  "A request is its provider's time and its ledger's. What is in the request and in none of the others is this process: look at the event loop.",
  [percentile(0.95, requested, "", 'http_route="/v1/query"'), "single search, whole"],
  [percentile(0.95, attempted, "", 'outcome!="abandoned"'), "provider attempt"],
  [percentile(0.95, batched, "operation"), "ledger {{operation}}"],
  [percentile(0.95, stated, "db_system_name"), "{{db_system_name}}"]
)

const whoFails = panel(
  "Who fails, per second",
  "ops",
  "The same question for failures: answered 5xx, refused by providers, failed at Postgres, failed at Redis.",
  [`sum(${rate(`${requested}_count{http_response_status_code=~"5.."}`)})`, "answered 5xx"],
  [`sum(${rate(`${attempted}_count{outcome!~"ok|abandoned"}`)})`, "provider refusals"],
  [`sum by (db_system_name) (${rate(`${stated}_count{error_type!=""}`)})`, "{{db_system_name}}"]
)

const faults = 'outcome=~"upstream_error|upstream_timeout|internal_error"'

const whatFails = panel(
  "Rows and calls that fail, per second",
  "ops",
  "Rows of batches and calls of the tools of /mcp. Their requests are answered 200, so that no status shows them.",
  [`sum by (outcome) (${rate(`${searched}_count{operation="row",${faults}}`)})`, "row {{outcome}}"],
  [`sum by (tool, outcome) (${rate(`quarry_mcp_calls_total{${faults}}`)})`, "{{tool}} {{outcome}}"]
)

export const service: Board = {
  uid: "quarry-service",
  title: "Quarry: service",
  description: "Was it us, Postgres, Redis or a provider?",
  rows: [
    { title: "Was it us, Postgres, Redis or a provider?", panels: [whoIsSlow, whoFails, whatFails] },
    {
      title: "Requests",
      panels: [
        panel(
          "Messages to /mcp by version",
          "ops",
          "The version of the protocol that each message names. A version without messages can be dropped.",
          [`sum by (version) (${rate("quarry_mcp_messages_total")})`, "{{version}}"]
        ),
        panel("Requests by status", "reqps", "All routes.", [
          `sum by (http_response_status_code) (${rate(`${requested}_count`)})`,
          "{{http_response_status_code}}"
        ]),
        panel("Requests by route", "reqps", "What no route has answered is unmatched.", [
          `sum by (http_route) (${rate(`${requested}_count`)})`,
          "{{http_route}}"
        ]),
        panel(
          "Time to answer a single search",
          "s",
          "The objective is 2.5 s for 95 of 100.",
          [percentile(0.5, requested, "", 'http_route="/v1/query"'), "p50"],
          [percentile(0.95, requested, "", 'http_route="/v1/query"'), "p95"],
          [percentile(0.99, requested, "", 'http_route="/v1/query"'), "p99"]
        )
      ]
    },
    {
      title: "Objectives",
      panels: [
        panel(
          "Requests answered 5xx",
          "percentunit",
          "The objective is 0.5 %; 7.2 % over an hour pages.",
          ["quarry:errors:ratio_rate5m", "5 minutes"],
          ["quarry:errors:ratio_rate1h", "1 hour"],
          ["quarry:errors:ratio_rate3d", "3 days"]
        ),
        panel(
          "Searches slower than 2.5 s",
          "percentunit",
          "The objective is 5 %.",
          ["quarry:slow:ratio_rate5m", "5 minutes"],
          ["quarry:slow:ratio_rate1h", "1 hour"],
          ["quarry:slow:ratio_rate3d", "3 days"]
        )
      ]
    },
    {
      title: "Searches and rows",
      panels: [
        panel("By outcome", "ops", "Single searches and rows of batches.", [
          `sum by (operation, outcome) (${rate(`${searched}_count`)})`,
          "{{operation}} {{outcome}}"
        ]),
        panel("By target", "ops", "Rows that were refused have none.", [
          `sum by (target) (${rate(`${searched}_count`)})`,
          "{{target}}"
        ]),
        panel("Result cache", "ops", "Joined: shared the call of the same search in flight.", [
          `sum by (result) (${rate("quarry_cache_lookups_total")})`,
          "{{result}}"
        ])
      ]
    },
    {
      title: "Admission",
      panels: [
        panel("Credentials judged", "ops", "By kind of credential.", [
          `sum by (kind, outcome) (${rate("quarry_authentications_total")})`,
          "{{kind}} {{outcome}}"
        ]),
        panel("Rate limiter", "ops", "By kind of caller.", [
          `sum by (caller, decision) (${rate("quarry_limiter_decisions_total")})`,
          "{{caller}} {{decision}}"
        ]),
        panel(
          "Sign-up and sign-in, refused",
          "ops",
          "By reason: the operator's settings, or a limit. The README of otel/ lists them.",
          [`sum by (reason) (${rate("quarry_sign_ups_refused_total")})`, "sign-ups {{reason}}"],
          [`sum by (reason) (${rate("quarry_sign_ins_refused_total")})`, "passwords {{reason}}"],
          [`sum by (kind, reason) (${rate("quarry_emails_suppressed_total")})`, "emails {{kind}} {{reason}}"]
        ),
        panel(
          "Redis is down",
          "short",
          "1 while a replica limits by itself (R28). Nothing is refused for it.",
          ["quarry_redis_away", "{{instance}} away"],
          ["quarry_limiter_local", "{{instance}} limits by itself"],
          [`sum(${rate("quarry_limiter_fallbacks_total")})`, "counted locally, per second"]
        ),
        panel("Redis, failures by code", "ops", "OOM is a full one, READONLY a replica, timeout no answer in 100 ms.", [
          `sum by (error_type) (${rate(`${stated}_count{db_system_name="redis",error_type!=""}`)})`,
          "{{error_type}}"
        ]),
        panel(
          "In flight",
          "short",
          "A replica sheds above 1,024 requests that it works on, and cuts clients that do not read above 64 MiB.",
          ["http_server_active_requests", "{{instance}} requests"],
          ["quarry_http_connections", "{{instance}} connections"],
          ["increase(quarry_http_shed_total[$__rate_interval])", "{{instance}} shed"],
          ["increase(quarry_http_connections_dropped_total[$__rate_interval])", "{{instance}} dropped"],
          ["increase(quarry_http_connections_cut_total[$__rate_interval])", "{{instance}} cut"],
          [
            "increase(quarry_admin_forbidden_hosts_total[$__rate_interval])",
            "{{instance}} private listener, wrong host"
          ]
        )
      ]
    },
    {
      title: "This process",
      panels: [
        panel(
          "Event loop",
          "s",
          "How late timers are. Everything waits for it.",
          ["nodejs_eventloop_delay_p99_seconds", "{{instance}} p99"],
          ["nodejs_eventloop_delay_max_seconds", "{{instance}} max"],
          ["nodejs_eventloop_delay_p50_seconds", "{{instance}} p50"]
        ),
        panel("Clock", "s", "Ahead of the database's. Periods go by the database's.", [
          "quarry_clock_skew_seconds",
          "{{instance}}"
        ]),
        panel(
          "CPU and event loop in use",
          "percentunit",
          "At 1 the event loop has no time left.",
          [`sum by (instance) (${rate("process_cpu_time_seconds_total")})`, "{{instance}} CPU"],
          ["nodejs_eventloop_utilization_ratio", "{{instance}} event loop"]
        ),
        panel(
          "Memory",
          "bytes",
          "The heap ends at 1 GiB.",
          ["process_memory_usage_bytes", "{{instance}} resident"],
          ["v8js_memory_heap_used_bytes", "{{instance}} heap"],
          ["quarry_process_memory_external_bytes", "{{instance}} buffers"]
        ),
        panel(
          "File descriptors",
          "short",
          "Without any left, new connections are closed unanswered.",
          ["quarry_process_file_descriptor_open", "{{instance}} open"],
          ["quarry_process_file_descriptor_limit", "{{instance}} limit"],
          ["increase(quarry_process_file_descriptor_exhausted_total[$__rate_interval])", "{{instance}} none left"]
        ),
        panel("Garbage collection, seconds per second", "s", "Time in which nothing else ran.", [
          `sum by (instance, v8js_gc_type) (${rate("v8js_gc_duration_seconds_sum")})`,
          "{{instance}} {{v8js_gc_type}}"
        ])
      ]
    },
    {
      title: "Telemetry itself",
      panels: [
        panel("Spans and log records lost", "ops", "Nobody waits for the collector: what does not fit is dropped.", [
          `sum by (signal, reason) (${rate("quarry_telemetry_dropped_total")})`,
          "{{signal}} {{reason}}"
        ]),
        panel(
          "Ready, and the database's checks",
          "short",
          "1 is well. /readyz fails at 0 of the first; the others are those of /readyz?full (R54).",
          ["quarry_ready", "{{instance}} ready"],
          ["quarry_readiness_check", "{{instance}} {{check}}"]
        ),
        panel("Age of the processes", "s", "A step down is a restart.", ["process_uptime_seconds", "{{instance}}"]),
        panel("Versions", "short", "Replicas of each version: two while a new one is rolled out.", [
          "sum by (version, commit, node) (quarry_build_info)",
          "{{version}} {{commit}} on Node {{node}}"
        ])
      ]
    }
  ]
}

const provider = 'provider=~"$provider"'

export const providers: Board = {
  uid: "quarry-providers",
  title: "Quarry: providers",
  description: "Which provider is it, and why?",
  variables: [valuesOf("provider", "Provider", "quarry_provider_breaker")],
  rows: [
    {
      title: "Attempts",
      panels: [
        panel("Answers", "ops", "Good answers, those without rows included.", [
          `sum by (provider, engine) (${rate(`${attempted}_count{${provider},outcome="ok"}`)})`,
          "{{provider}} {{engine}}"
        ]),
        panel(
          "Refusals by reason",
          "ops",
          "docs/reference/providers.md says what each means and does. Abandoned says nothing of the provider: another was faster, or the search was given up.",
          [
            `sum by (provider, engine, outcome) (${rate(`${attempted}_count{${provider},outcome!="ok"}`)})`,
            "{{provider}} {{engine}} {{outcome}}"
          ]
        ),
        panel("Share that answered", "percentunit", "Of the attempts that say something of the provider.", [
          `sum by (provider, engine) (${rate(`${attempted}_count{${provider},outcome="ok"}`)}) / sum by (provider, engine) (${rate(`${attempted}_count{${provider},outcome!~"abandoned|busy|unserved"}`)})`,
          "{{provider}} {{engine}}"
        ])
      ]
    },
    {
      title: "Time",
      panels: [
        panel("Answers: 50 of 100 within", "s", "Good answers.", [
          percentile(0.5, attempted, "provider, engine", `${provider},outcome="ok"`),
          "{{provider}} {{engine}}"
        ]),
        panel("Answers: 95 of 100 within", "s", "Good answers.", [
          percentile(0.95, attempted, "provider, engine", `${provider},outcome="ok"`),
          "{{provider}} {{engine}}"
        ]),
        panel("Waits for a turn: 95 of 100 within", "s", "Kept waiting by your own bounds in the provider file.", [
          percentile(0.95, "quarry_provider_wait_duration_seconds", "provider", provider),
          "{{provider}}"
        ])
      ]
    },
    {
      title: "Left out",
      panels: [
        {
          ...panel("Breakers that are open", "short", "1: not asked. Each replica has its own; this is the worst.", [
            `max by (provider, engine) (quarry_provider_breaker{${provider},state="open"})`,
            "{{provider}} {{engine}}"
          ]),
          kind: "state-timeline"
        },
        panel("Breakers that probe", "short", "Half open: one search at a time finds out.", [
          `sum by (provider, engine) (quarry_provider_breaker{${provider},state="half_open"})`,
          "{{provider}} {{engine}}"
        ])
      ]
    },
    {
      title: "What callers saw",
      panels: [
        panel("Searches that failed, by target", "percentunit", "After all failover. They are charged.", [
          `sum by (target) (${rate(`${searched}_count{outcome=~"upstream_error|upstream_timeout"}`)}) / sum by (target) (${rate(`${searched}_count{target!="none"}`)})`,
          "{{target}}"
        ]),
        panel("Time to dispatch and answer: 95 of 100 within", "s", "Without cache hits.", [
          percentile(0.95, searched, "target", 'cached="false",target!="none"'),
          "{{target}}"
        ])
      ]
    }
  ]
}

export const ledger: Board = {
  uid: "quarry-ledger",
  title: "Quarry: ledger",
  description: "Are credits right, and is the database well?",
  rows: [
    {
      title: "Credits",
      panels: [
        panel("Charged", "ops", "By target.", [
          `sum by (target) (${rate("quarry_credits_charged_total")})`,
          "{{target}}"
        ]),
        panel(
          "Given back and refused",
          "ops",
          "Given back: held for searches that were not chargeable. Refused: asked for and not there.",
          [`sum(${rate("quarry_credits_returned_total")})`, "given back"],
          [`sum(${rate("quarry_credits_refused_total")})`, "refused"]
        ),
        panel(
          "The books",
          "short",
          "What does not add up, in the newest entries and in the last verification of all. Anything but 0 pages.",
          ["max by (kind) (quarry_ledger_discrepancies)", "newest entries: {{kind}}"],
          ["max by (kind) (quarry_ledger_verified_problems)", "last night: {{kind}}"],
          ["sum by (outcome) (increase(quarry_ledger_checks_total[15m]))", "checks in 15 minutes: {{outcome}}"]
        ),
        panel(
          "Verification of all books",
          "s",
          "Each night at 03:00 UTC, on one replica. More than 36 hours of age make a ticket.",
          ["time() - max(quarry_ledger_verified_time_seconds)", "age"],
          ["max(quarry_ledger_verified_duration_seconds)", "duration"]
        )
      ]
    },
    {
      title: "Billing",
      panels: [
        panel("Deliveries", "ops", "Of the payment provider. Refused: not signed by it, or too old.", [
          `sum by (type, outcome) (${rate("quarry_billing_events_total")})`,
          "{{type}} {{outcome}}"
        ]),
        panel("Repaired by the sweep", "short", "In an hour. Deliveries that come leave it nothing to repair.", [
          "sum by (kind) (increase(quarry_billing_drift_total[1h]))",
          "{{kind}}"
        ]),
        panel("Oldest delivery that waits", "s", "More than a quarter of an hour makes a ticket.", [
          "max(quarry_billing_inbox_oldest_seconds)",
          "age"
        ]),
        panel(
          "Credits owed",
          "short",
          "Refunded after they were spent; taken from the next credits that are granted.",
          ["max(quarry_billing_owed_credits)", "owed"]
        )
      ]
    },
    {
      title: "Events for customers",
      panels: [
        panel("Attempts", "ops", "Postponed and given up: the receiver failed, which is the customer's to mend.", [
          `sum by (channel, outcome) (${rate("quarry_events_deliveries_total")})`,
          "{{channel}} {{outcome}}"
        ]),
        panel("Late", "s", "Attempts that are due and not made. More than five minutes make a ticket.", [
          "max(quarry_events_overdue_seconds)",
          "latest"
        ]),
        panel("Oldest undelivered", "s", "Rises while a receiver is down, for three days at most.", [
          "max(quarry_events_oldest_seconds)",
          "age"
        ]),
        panel("Waiting", "short", "Deliveries that wait for an attempt or an answer.", [
          "max(quarry_events_pending)",
          "deliveries"
        ]),
        panel("Dropped", "ops", "Deliveries that were dropped: by a change of address, a suspension, the operator.", [
          `sum by (reason) (${rate("quarry_events_dropped_total")})`,
          "{{reason}}"
        ]),
        panel("Accounts at their share", "short", "Accounts with due deliveries that have their share of the slots.", [
          "max(quarry_events_accounts_capped)",
          "accounts"
        ])
      ]
    },
    {
      title: "Holds",
      panels: [
        panel(
          "Open",
          "short",
          "At most one for each request in flight. Overdue ones are the sweeper's, within ten seconds.",
          ["max(quarry_ledger_holds)", "open"],
          ["max(quarry_ledger_holds_overdue)", "overdue"],
          ["sum(http_server_active_requests)", "requests in flight"]
        ),
        panel("Swept", "ops", "Each is a request that a crash cut off.", [
          `sum by (instance) (${rate("quarry_ledger_holds_swept_total")})`,
          "{{instance}}"
        ])
      ]
    },
    {
      title: "Group commit",
      panels: [
        panel("Statements: 99 of 100 within", "s", "With what was sent again.", [
          percentile(0.99, batched, "operation, outcome"),
          "{{operation}} {{outcome}}"
        ]),
        panel("Calls in one statement, mean", "short", "It grows with the load: what arrives during one is the next.", [
          `sum by (operation) (${rate("quarry_ledger_batch_size_sum")}) / sum by (operation) (${rate("quarry_ledger_batch_size_count")})`,
          "{{operation}}"
        ]),
        panel(
          "Waiting",
          "short",
          "Calls in the queue, and accounts whose rows somebody else has locked.",
          ["sum by (operation) (quarry_ledger_waiting)", "{{operation}} calls"],
          ["sum by (operation) (quarry_ledger_apart)", "{{operation}} accounts apart"]
        ),
        panel("Sent again", "ops", "Lost connections, deadlocks, failovers.", [
          `sum by (operation) (${rate("quarry_ledger_retries_total")})`,
          "{{operation}}"
        ])
      ]
    },
    {
      title: "Postgres, as this process sees it (the embedded database shows under group commit only)",
      panels: [
        panel(
          "Statements",
          "s",
          "All of them, also those of pages and keys.",
          [percentile(0.5, stated, "", 'db_system_name="postgresql"'), "p50"],
          [percentile(0.99, stated, "", 'db_system_name="postgresql"'), "p99"]
        ),
        panel("Failures by kind", "ops", "A UniqueViolation is somebody's second try; a ConnectionError is not.", [
          `sum by (error_type) (${rate(`${stated}_count{db_system_name="postgresql",error_type!=""}`)})`,
          "{{error_type}}"
        ]),
        panel(
          "Pool",
          "short",
          "Pending above zero for long: DATABASE_POOL_SIZE is too small, or statements are too slow.",
          ["quarry_database_connections_used", "{{instance}} used"],
          ["db_client_connection_pending_requests", "{{instance}} pending"],
          ["db_client_connection_max", "{{instance}} at most"]
        ),
        panel("Wait for a connection: 99 of 100 within", "s", "Part of every statement's time.", [
          percentile(0.99, "db_client_connection_wait_time_seconds", ""),
          "p99"
        ])
      ]
    }
  ]
}

const guide = `A batch's answer names it: \`batch_id\`. Paste it above. The table has the trace of the batch; paste its id into **Trace**
to see it whole: one \`quarry.row\` for each row, by \`quarry.row.index\` (the first is 0), with what came of it and what it
cost. No trace? Only some are kept: see the README beside the dashboards. The log has every batch.`

export const batch: Board = {
  uid: "quarry-batch",
  title: "Quarry: one batch",
  description: "What happened to row 17, and was it charged?",
  variables: [
    new DatasourceVariableBuilder("traces").label("Jaeger").type("jaeger"),
    new TextBoxVariableBuilder("batch").label("Batch").defaultValue(""),
    new TextBoxVariableBuilder("trace").label("Trace").defaultValue("")
  ],
  above: [
    new text.PanelBuilder().title("").mode(text.TextMode.Markdown).content(guide).span(24).height(4),
    new PanelBuilder()
      .type("table")
      .title("Traces of the batch")
      .datasource(jaeger)
      .span(24)
      .height(5)
      .withTarget(
        query({
          refId: "A",
          datasource: jaeger,
          queryType: "search",
          service: "quarry",
          tags: 'quarry.batch.id="$batch"',
          limit: 20
        })
      ),
    new PanelBuilder()
      .type("traces")
      .title("Trace")
      .datasource(jaeger)
      .span(24)
      .height(20)
      .withTarget(query({ refId: "A", datasource: jaeger, query: "$trace" }))
  ],
  rows: [
    {
      title: "What else happened then",
      panels: [
        panel("Rows by outcome", "ops", "Of all batches.", [
          `sum by (outcome) (${rate(`${searched}_count{operation="row"}`)})`,
          "{{outcome}}"
        ]),
        panel("Rows: 95 of 100 within", "s", "From dispatch to answer.", [
          percentile(0.95, searched, "target", 'operation="row",target!="none",cached="false"'),
          "{{target}}"
        ]),
        whoIsSlow
      ]
    }
  ]
}
