/** The alerts and recording rules, without the label matchers that select one deployment: `alerts.ts` adds those. */

export interface Recording {
  readonly record: string
  readonly expr: string
}

export interface Alert {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly severity: "page" | "ticket"
  readonly summary: string
}

const failedOutcomes = 'outcome=~"upstream_error|upstream_timeout|internal_error"'
const requests = "http_server_request_duration_seconds"
const answered = 'http_route="/v1/query",http_response_status_code="200"'

/**
 * The share of requests, rows and tool calls that fail. A batch or a tool call returns 200 even if its searches fail,
 * so rows and calls are counted in addition to requests. 404s are excluded: scanners must not improve the ratio.
 */
const errors = (window: string): Recording => ({
  record: `quarry:errors:ratio_rate${window}`,
  expr: `
(
  (sum(rate(${requests}_count{http_response_status_code=~"5.."}[${window}])) or vector(0))
  + (sum(rate(quarry_search_duration_seconds_count{operation="row",${failedOutcomes}}[${window}])) or vector(0))
  + (sum(rate(quarry_mcp_calls_total{${failedOutcomes}}[${window}])) or vector(0))
) / (
  sum(rate(${requests}_count{http_response_status_code!="404"}[${window}]))
  + (sum(rate(quarry_search_duration_seconds_count{operation="row"}[${window}])) or vector(0))
  + (sum(rate(quarry_mcp_calls_total[${window}])) or vector(0))
)`
})

/** The share of answered single searches that take longer than 2.5 s. */
const slow = (window: string): Recording => ({
  record: `quarry:slow:ratio_rate${window}`,
  expr: `
1 - sum(rate(${requests}_bucket{${answered},le="2.5"}[${window}]))
  / sum(rate(${requests}_count{${answered}}[${window}]))`
})

export const objectives: ReadonlyArray<Recording> = [
  ...["5m", "30m", "1h", "6h", "3d"].flatMap((window) => [errors(window), slow(window)]),
  {
    record: "quarry:credentials_refused:ratio_rate10m",
    // No value without requests: a division by 0 would spoil each average over it.
    expr: `
(sum(rate(quarry_authentications_total{kind!="none",outcome="refused"}[10m])) or vector(0))
  / (sum(rate(quarry_authentications_total{kind!="none"}[10m])) > 0)`
  }
]

/** Error budget burn (Google's SRE workbook, chapter 5): a long window to be sure, and a short one to end soon. */
export const burn: ReadonlyArray<Alert> = [
  {
    alert: "QuarryAvailabilityBurnFast",
    for: "2m",
    severity: "page",
    summary:
      "{{ $value | humanizePercentage }} of requests, rows and tool calls fail. At this rate the month's error budget lasts two days",
    expr: "quarry:errors:ratio_rate1h > 0.072 and quarry:errors:ratio_rate5m > 0.072"
  },
  {
    alert: "QuarryAvailabilityBurnSlow",
    for: "15m",
    severity: "page",
    summary:
      "{{ $value | humanizePercentage }} of requests, rows and tool calls fail. At this rate the month's error budget lasts five days",
    expr: "quarry:errors:ratio_rate6h > 0.03 and quarry:errors:ratio_rate30m > 0.03"
  },
  {
    alert: "QuarryAvailabilityBurnSteady",
    for: "1h",
    severity: "ticket",
    summary:
      "{{ $value | humanizePercentage }} of requests, rows and tool calls fail. At this rate the month's error budget is gone before the month ends",
    expr: "quarry:errors:ratio_rate3d > 0.005 and quarry:errors:ratio_rate6h > 0.005"
  },
  {
    alert: "QuarryLatencyBurnFast",
    for: "2m",
    severity: "page",
    summary:
      "{{ $value | humanizePercentage }} of searches take longer than 2.5 s. At this rate the month's latency budget lasts two days",
    expr: "quarry:slow:ratio_rate1h > 0.72 and quarry:slow:ratio_rate5m > 0.72"
  },
  {
    alert: "QuarryLatencyBurnSlow",
    for: "15m",
    severity: "page",
    summary:
      "{{ $value | humanizePercentage }} of searches take longer than 2.5 s. At this rate the month's latency budget lasts five days",
    expr: "quarry:slow:ratio_rate6h > 0.3 and quarry:slow:ratio_rate30m > 0.3"
  },
  {
    alert: "QuarryLatencyBurnSteady",
    for: "1h",
    severity: "ticket",
    summary:
      "{{ $value | humanizePercentage }} of searches take longer than 2.5 s. At this rate the month's latency budget is gone before the month ends",
    expr: "quarry:slow:ratio_rate3d > 0.05 and quarry:slow:ratio_rate6h > 0.05"
  }
]

export const causes: ReadonlyArray<Alert> = [
  {
    alert: "QuarryDown",
    for: "2m",
    severity: "page",
    summary: "No Quarry process reports metrics",
    expr: "absent(process_uptime_seconds)"
  },
  // QuarryDown is about all replicas together. Prometheus has no `up` for a target that discovery no longer lists.
  {
    alert: "QuarryReplicaGone",
    for: "2m",
    severity: "ticket",
    summary: "{{ $labels.instance }} has not answered Prometheus for two minutes",
    expr: "up == 0"
  },
  {
    alert: "QuarryDatabaseAway",
    for: "30s",
    severity: "page",
    summary: "{{ $labels.instance }} cannot reach Postgres",
    expr: `sum by (instance) (increase(db_client_operation_duration_seconds_count{db_system_name="postgresql",error_type=~"ConnectionError|timeout"}[1m])) > 0
unless sum by (instance) (increase(db_client_operation_duration_seconds_count{db_system_name="postgresql",error_type=""}[1m])) > 0`
  },
  {
    alert: "QuarryDatabaseRefusesWrites",
    for: "1m",
    severity: "page",
    summary: "Postgres rejects writes from {{ $labels.instance }}: {{ $labels.error_type }}",
    expr: 'sum by (instance, error_type) (increase(db_client_operation_duration_seconds_count{db_system_name="postgresql",error_type=~"disk_full|read_only_sql_transaction|io_error"}[5m])) > 0'
  },
  {
    alert: "QuarryPoolExhausted",
    for: "5m",
    severity: "ticket",
    summary: "{{ $labels.instance }} keeps waiting for a free Postgres connection",
    expr: "avg_over_time(db_client_connection_pending_requests[5m]) > 1"
  },
  {
    alert: "QuarryLedgerDrift",
    for: "2m",
    severity: "page",
    summary: "{{ $value }} accounts do not add up in the newest ledger entries ({{ $labels.kind }})",
    expr: "max by (kind) (quarry_ledger_discrepancies) > 0"
  },
  {
    alert: "QuarryLedgerWrong",
    for: "2m",
    severity: "page",
    summary: "{{ $value }} figures disagreed in the last full ledger verification ({{ $labels.kind }})",
    expr: "max by (kind) (quarry_ledger_verified_problems) > 0"
  },
  {
    alert: "QuarryLedgerUnverified",
    for: "15m",
    severity: "ticket",
    summary: "The last full ledger verification was more than 36 hours ago",
    expr: "time() - max(quarry_ledger_verified_time_seconds) > 129600"
  },
  {
    alert: "QuarryLedgerUnchecked",
    for: "15m",
    severity: "ticket",
    summary: "No replica has checked the ledger for 15 minutes",
    expr: 'sum(increase(quarry_ledger_checks_total{outcome=~"clean|discrepancies"}[15m])) == 0'
  },
  {
    alert: "QuarryClockSkew",
    for: "1m",
    severity: "ticket",
    summary: "The clock of {{ $labels.instance }} differs from the database's by {{ $value | humanizeDuration }}",
    expr: "abs(quarry_clock_skew_seconds) > 5"
  },
  {
    alert: "QuarryHoldsOverdue",
    for: "3m",
    severity: "page",
    summary: "{{ $value }} holds have outlived their lease, and no replica returns their credits",
    expr: "max(quarry_ledger_holds_overdue) > 0"
  },
  {
    alert: "QuarryHoldsGrowing",
    for: "3m",
    severity: "ticket",
    summary: "{{ $value }} holds are open, far more than requests in flight",
    expr: "max(quarry_ledger_holds) > sum(http_server_active_requests) + 100"
  },
  {
    alert: "QuarryPagesFailing",
    for: "15m",
    severity: "ticket",
    // Ignores a few failed pages, which may belong to a single dead site.
    expr: `
sum by (outcome) (rate(quarry_page_duration_seconds_count{cached="false",outcome!~"ok|not_found|address_not_allowed"}[30m]))
  / on () group_left sum(rate(quarry_page_duration_seconds_count{cached="false"}[30m])) > 0.5
  and on () sum(increase(quarry_page_duration_seconds_count{cached="false"}[30m])) > 50`,
    summary: "{{ $value | humanizePercentage }} of the pages read end as {{ $labels.outcome }}"
  },
  {
    alert: "QuarryParserRestarts",
    for: "5m",
    severity: "ticket",
    expr: 'sum by (reason) (increase(quarry_pages_parser_restarts_total{reason!="abandoned"}[15m])) > 20',
    summary:
      "Parsers of pages were replaced {{ $value | humanize }} times in a quarter of an hour ({{ $labels.reason }})"
  },
  {
    alert: "QuarrySettleRetries",
    for: "5m",
    severity: "ticket",
    summary: "Settlements were retried {{ $value | humanize }} times in five minutes",
    expr: 'sum(increase(quarry_ledger_retries_total{operation=~"ledger_settle(_part)?"}[5m])) > 5'
  },
  {
    alert: "QuarryRedisRefusesWrites",
    for: "1m",
    severity: "ticket",
    summary: "Redis rejects writes from {{ $labels.instance }}: {{ $labels.error_type }}",
    expr: 'sum by (instance, error_type) (increase(db_client_operation_duration_seconds_count{db_system_name="redis",error_type=~"OOM|READONLY|MISCONF|NOREPLICAS"}[5m])) > 0'
  },
  // Uses an average, because a full Redis sometimes responds.
  {
    alert: "QuarryLimiterLocal",
    for: "1m",
    severity: "ticket",
    summary: "{{ $labels.instance }} cannot reach Redis and counts rate limits locally",
    expr: "max by (instance) (avg_over_time(quarry_limiter_local[2m])) > 0.5"
  },
  {
    alert: "QuarryProviderDown",
    for: "5m",
    severity: "ticket",
    summary: "{{ $labels.provider }} {{ $labels.engine }} has not answered a single search in five minutes",
    expr: `sum by (provider, engine) (rate(quarry_provider_attempt_duration_seconds_count{outcome!~"ok|abandoned|busy|unserved"}[5m])) > 0
unless sum by (provider, engine) (rate(quarry_provider_attempt_duration_seconds_count{outcome="ok"}[5m])) > 0`
  },
  {
    alert: "QuarryBreakerOpen",
    for: "5m",
    severity: "ticket",
    summary: "{{ $labels.provider }} {{ $labels.engine }} is skipped most of the time: its circuit breaker is open",
    expr: 'avg by (provider, engine) (avg_over_time(quarry_provider_breaker{state="closed"}[15m])) < 0.5'
  },
  {
    alert: "QuarryTargetFailing",
    for: "5m",
    severity: "page",
    summary: "{{ $value | humanizePercentage }} of searches on {{ $labels.target }} fail, and they are charged",
    expr: `sum by (target) (rate(quarry_search_duration_seconds_count{outcome=~"upstream_error|upstream_timeout"}[5m]))
  / sum by (target) (rate(quarry_search_duration_seconds_count{target!="none"}[5m])) > 0.5`
  },
  // Only requests that present a credential: requests without one are mostly scanners.
  {
    alert: "QuarryCredentialsRefused",
    for: "2m",
    severity: "ticket",
    summary: "{{ $value | humanizePercentage }} of presented credentials are refused, far more than usual",
    expr: `quarry:credentials_refused:ratio_rate10m > 0.2
and on () sum(quarry:credentials_refused:ratio_rate10m) > 2 * (sum(avg_over_time(quarry:credentials_refused:ratio_rate10m[1d] offset 30m)) or vector(0))
and on () sum(increase(quarry_authentications_total{kind!="none",outcome="refused"}[10m])) > 20`
  },
  // The sweep repairs what webhooks miss, so nobody else notices. Disputes send no webhooks.
  {
    alert: "QuarryBillingDeliveriesStopped",
    for: "10m",
    severity: "ticket",
    summary:
      "No payment provider webhook has arrived for three hours, and the sweep repaired {{ $value | humanize }} differences",
    expr: `sum(increase(quarry_billing_drift_total{kind=~"subscription|order|refund"}[3h])) > 0
unless sum(increase(quarry_billing_events_total{outcome=~"stored|repeated|ignored"}[3h])) > 0`
  },
  {
    alert: "QuarryBillingInboxStuck",
    for: "5m",
    severity: "ticket",
    summary:
      "A payment provider webhook has waited {{ $value | humanizeDuration }}: the payment is not in the ledger yet",
    expr: "max(quarry_billing_inbox_oldest_seconds) > 900"
  },
  {
    alert: "QuarryEventsLate",
    for: "5m",
    severity: "ticket",
    summary: "Webhooks and emails to customers are {{ $value | humanizeDuration }} late",
    expr: "max(quarry_events_overdue_seconds) > 300"
  },
  {
    alert: "QuarryShedding",
    for: "1m",
    severity: "page",
    summary: "{{ $labels.instance }} refuses requests because it is full",
    expr: "sum by (instance) (increase(quarry_http_shed_total[5m])) + sum by (instance) (increase(quarry_http_connections_dropped_total[5m])) > 0"
  },
  {
    alert: "QuarryEventLoopBlocked",
    for: "5m",
    severity: "ticket",
    summary: "The event loop of {{ $labels.instance }} is blocked: its p99 delay is {{ $value | humanizeDuration }}",
    expr: "avg_over_time(nodejs_eventloop_delay_p99_seconds[5m]) > 0.1"
  },
  {
    alert: "QuarryHeapFull",
    for: "10m",
    severity: "ticket",
    summary: "{{ $labels.instance }} uses {{ $value | humanize1024 }}B of its 1 GiB heap",
    expr: "v8js_memory_heap_used_bytes > 900 * 1024 * 1024"
  },
  {
    alert: "QuarryFileDescriptorsExhausted",
    for: "1m",
    severity: "page",
    summary: "{{ $labels.instance }} has few or no file descriptors left and closes new connections unanswered",
    expr: `sum by (instance) (increase(quarry_process_file_descriptor_exhausted_total[5m])) > 0
  or sum by (instance) (quarry_process_file_descriptor_open / quarry_process_file_descriptor_limit) > 0.9`
  },
  {
    alert: "QuarryTelemetryDropped",
    for: "5m",
    severity: "ticket",
    summary: "{{ $value | humanize }} {{ $labels.signal }} were dropped instead of exported",
    expr: "sum by (signal) (increase(quarry_telemetry_dropped_total[10m])) > 0"
  }
]
