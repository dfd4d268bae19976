import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Layer, Redacted } from "effect"
import { describe as describeSettings, list } from "../../src/settings/describe.ts"
import { AppConfig } from "../../src/settings/Settings.ts"

const load = (environment: Record<string, string>) =>
  AppConfig.pipe(
    Effect.provide(AppConfig.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(environment)))))
  )

const complaint = (environment: Record<string, string>) =>
  load(environment).pipe(
    Effect.flip,
    Effect.map((failure) => failure.message)
  )

/** The variables of the runtime contract that a process reads at its start. */
const contract = {
  HOST: "127.0.0.1",
  PORT: 3000,
  ADMIN_HOST: "127.0.0.1",
  ADMIN_PORT: 9464,
  ADMIN_HOSTS: null,
  BASE_URL: "http://localhost:3000",
  DATABASE_URL: null,
  DATA_DIR: ".quarry",
  EMBEDDED_SYNC: "on",
  DATABASE_POOL_SIZE: 10,
  DATABASE_STATEMENT_TIMEOUT: "10 seconds",
  DATABASE_PREPARE: true,
  REDIS_URL: null,
  AUTH_SECRET: null,
  KEY_PEPPER: null,
  QUARRY_PLANS: null,
  QUARRY_PROVIDERS: null,
  SEARXNG_URL: null,
  SEARXNG_ENGINES:
    "alpha_search=google,beta_search=bing,gamma_search=duckduckgo,delta_search=brave,epsilon_search=yandex,zeta_search=mojeek",
  WORKERS: 1,
  PROVIDER_TIMEOUT: "15 seconds",
  BULK_BUDGET: "1 minute",
  CACHE_TTL: "5 minutes",
  CACHE_SIZE: 10_000,
  PAGES: "on",
  PAGES_TIMEOUT: "15 seconds",
  PAGES_CACHE_TTL: "1 hour",
  PAGES_ROBOTS: "respect",
  PAGES_USER_AGENT: null,
  PAGES_ALLOW_PRIVATE: false,
  PAGES_WORKERS: null,
  DEMO_ORIGIN: null,
  CORS_ORIGINS: null,
  COMPAT: null,
  COMPAT_ENGINES: null,
  COMPAT_KEYLESS_ACCOUNT: null,
  COMPAT_KEYLESS_NETWORKS: null,
  MARKETPLACE_PROXY_SECRET: null,
  MARKETPLACE_PLAN: null,
  SIGN_UP: "open",
  SIGN_UP_DOMAINS: null,
  REQUIRE_SECOND_FACTOR: false,
  OAUTH_REGISTRATIONS_PER_MINUTE: 60,
  GOOGLE_CLIENT_ID: null,
  GOOGLE_CLIENT_SECRET: null,
  GITHUB_CLIENT_ID: null,
  GITHUB_CLIENT_SECRET: null,
  OIDC_ISSUER: null,
  OIDC_CLIENT_ID: null,
  OIDC_CLIENT_SECRET: null,
  OIDC_NAME: "single sign-on",
  OIDC_DOMAINS: null,
  OIDC_ONLY: false,
  SMTP_URL: null,
  EMAIL_FROM: null,
  WEBHOOKS_ALLOW_PRIVATE: false,
  COMPRESSION: "off",
  SERVER_TIMING: "on",
  TRUSTED_PROXY_HOPS: 0,
  QUERY_LOG_RETENTION: null,
  QUARRY_BACKGROUND: "on",
  QUARRY_OPERATOR: null,
  OPERATOR_CONSOLE: "off",
  OPERATOR_NETWORKS: null,
  LOG_LEVEL: "info",
  LOG_FORMAT: null,
  SHUTDOWN_GRACE: "75 seconds",
  DRAIN_DELAY: "5 seconds",
  QUARRY_COMMIT: null,
  OTEL_SDK_DISABLED: false,
  OTEL_EXPORTER_OTLP_ENDPOINT: null,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: null,
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: null,
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: null,
  OTEL_EXPORTER_OTLP_HEADERS: null,
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: null,
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: null,
  OTEL_EXPORTER_OTLP_LOGS_HEADERS: null,
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/protobuf",
  OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "http/protobuf",
  OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: "http/protobuf",
  OTEL_EXPORTER_OTLP_COMPRESSION: "none",
  OTEL_EXPORTER_OTLP_TIMEOUT: 10_000,
  OTEL_TRACES_EXPORTER: "otlp",
  OTEL_METRICS_EXPORTER: "otlp",
  OTEL_LOGS_EXPORTER: "otlp",
  OTEL_SERVICE_NAME: "quarry",
  OTEL_RESOURCE_ATTRIBUTES: null,
  OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
  OTEL_TRACES_SAMPLER_ARG: 0.1,
  OTEL_BSP_SCHEDULE_DELAY: 5_000,
  OTEL_BSP_EXPORT_TIMEOUT: 30_000,
  OTEL_BSP_MAX_QUEUE_SIZE: 2_048,
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: 512,
  OTEL_METRIC_EXPORT_INTERVAL: 60_000,
  TRACE_QUERY_TEXT: false,
  BILLING_PROVIDER: null,
  POLAR_ACCESS_TOKEN: null,
  POLAR_WEBHOOK_SECRET: null,
  POLAR_SERVER: "production",
  POLAR_BASE_URL: null,
  POLAR_PRODUCT_STARTER: null,
  POLAR_PRODUCT_GROWTH: null,
  POLAR_PRODUCT_BUSINESS: null,
  POLAR_PRODUCT_PACK: null,
  BILLING_GRACE: "3 days",
  BILLING_CHECKOUT: "open"
}

const production = { DATABASE_URL: "postgres://u:p@db/quarry", AUTH_SECRET: "a".repeat(32), KEY_PEPPER: "k".repeat(32) }

describe("AppConfig", () => {
  it.effect("everything has a default, and every variable has the contract's name", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(describeSettings(yield* load({})), contract)
    })
  )

  it.effect.each(["2", "auto"])("WORKERS=%s on the embedded database is one line that says what to do", (workers) =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* complaint({ WORKERS: workers }),
        `WORKERS: got ${workers}; the embedded database takes 1. For more, name a Postgres in DATABASE_URL.`
      )
      assert.strictEqual(`${(yield* load({ ...production, WORKERS: workers })).workers}`, workers)
    })
  )

  it("every variable is in docs/settings.md, and nothing else is", () => {
    const document = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8")
    const rows = document.split("\n").filter((line) => line.startsWith("| `"))
    const named = rows.flatMap((row) => row.split("|")[1]?.match(/[A-Z_]+/g) ?? [])
    assert.deepStrictEqual(named.toSorted(), Object.keys(contract).toSorted())
  })

  it.effect("an empty variable counts as not set", () =>
    Effect.gen(function* () {
      const environment = Object.fromEntries(Object.keys(contract).map((name) => [name, ""]))
      assert.deepStrictEqual(describeSettings(yield* load(environment)), contract)
    })
  )

  it.effect("durations are written as words; 0 is one", () =>
    Effect.gen(function* () {
      const config = yield* load({ PROVIDER_TIMEOUT: "1.5 seconds", CACHE_TTL: "0", QUERY_LOG_RETENTION: "30 days" })
      assert.strictEqual(Duration.toMillis(config.providerTimeout), 1500)
      assert.strictEqual(Duration.toMillis(config.cacheTtl), 0)
      assert.strictEqual(config.queryLogRetention && Duration.toDays(config.queryLogRetention), 30)
    })
  )

  it.effect("a free port needs a BASE_URL, and may be that of the private listener too", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* complaint({ PORT: "0" }),
        "BASE_URL: not set; with PORT=0 it must name the address at which people reach the server."
      )
      const free = { PORT: "0", ADMIN_PORT: "0", BASE_URL: "https://search.example.com" }
      assert.strictEqual((yield* load(free)).port, 0)
    })
  )

  it.effect("BASE_URL follows PORT and loses a trailing slash", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* load({ PORT: "8080" })).baseUrl, "http://localhost:8080")
      assert.strictEqual((yield* load({ BASE_URL: "https://api.example/" })).baseUrl, "https://api.example")
    })
  )

  it.effect("LOG_LEVEL is read in any letter case", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* load({ LOG_LEVEL: "DEBUG" })).logLevel, "Debug")
    })
  )

  it.effect("SEARXNG_ENGINES names some engines and leaves the others", () =>
    Effect.gen(function* () {
      const { searxngEngines } = yield* load({ SEARXNG_ENGINES: "beta_search = bing images, zeta_search=qwant" })
      assert.strictEqual(searxngEngines.beta_search, "bing images")
      assert.strictEqual(searxngEngines.zeta_search, "qwant")
      assert.strictEqual(searxngEngines.alpha_search, "google")
    })
  )

  it.effect("R65: SIGN_UP_DOMAINS is a list, in any letter case, with spaces or without", () =>
    Effect.gen(function* () {
      const config = yield* load({ SIGN_UP: "invite", SIGN_UP_DOMAINS: "Example.com, mail.example.org" })
      assert.strictEqual(config.signUp, "invite")
      assert.deepStrictEqual(config.signUpDomains, ["example.com", "mail.example.org"])
      assert.strictEqual(describeSettings(config).SIGN_UP_DOMAINS, "example.com,mail.example.org")
    })
  )

  it.effect("CORS_ORIGINS is a list, with spaces or without", () =>
    Effect.gen(function* () {
      const config = yield* load({ CORS_ORIGINS: "https://a.example, http://localhost:5173" })
      assert.deepStrictEqual(config.corsOrigins, ["https://a.example", "http://localhost:5173"])
      assert.strictEqual(describeSettings(config).CORS_ORIGINS, "https://a.example,http://localhost:5173")
    })
  )

  it.effect("the marketplace secret may be two during rotation", () =>
    Effect.gen(function* () {
      const { marketplaceProxySecret } = yield* load({ MARKETPLACE_PROXY_SECRET: "old, new" })
      assert.deepStrictEqual(marketplaceProxySecret?.map(Redacted.value), ["old", "new"])
    })
  )

  it.effect.each([
    ["PORT", "70000"],
    ["PORT", "1e3"],
    ["PORT", "-1"],
    ["HOST", "http://0.0.0.0"],
    ["HOST", "a b"],
    ["ADMIN_HOST", "127.0.0.1/8"],
    ["ADMIN_PORT", "3000.5"],
    ["ADMIN_HOSTS", "metrics.example.com:9464"],
    ["ADMIN_HOSTS", "https://metrics.example.com"],
    ["ADMIN_HOSTS", "*.example.com"],
    ["ADMIN_HOSTS", "metrics.example.com,"],
    ["ADMIN_HOSTS", Array.from({ length: 101 }, (_, i) => `a${i}.example`).join(",")],
    ["DEMO_ORIGIN", "demo"],
    ["DEMO_ORIGIN", "www.example.com"],
    ["DEMO_ORIGIN", "https://www.example.com/"],
    ["DEMO_ORIGIN", "https://WWW.example.com"],
    ["DEMO_ORIGIN", "null"],
    ["SIGN_UP", "invites"],
    ["SIGN_UP", "Open"],
    ["SIGN_UP_DOMAINS", "*"],
    ["SIGN_UP_DOMAINS", "@example.com"],
    ["SIGN_UP_DOMAINS", "localhost"],
    ["SIGN_UP_DOMAINS", "example.com,"],
    ["SIGN_UP_DOMAINS", "https://example.com"],
    ["SIGN_UP_DOMAINS", Array.from({ length: 101 }, (_, i) => `a${i}.example`).join(",")],
    ["OIDC_ISSUER", "login.example.com"],
    ["OIDC_ISSUER", "http://login.example.com"],
    ["OIDC_ISSUER", "https://me:secret@login.example.com"],
    ["OIDC_ISSUER", "https://login.example.com#tenant"],
    ["OIDC_NAME", "x".repeat(41)],
    ["OIDC_DOMAINS", "@example.com"],
    ["OIDC_ONLY", "yes"],
    ["CORS_ORIGINS", "*"],
    ["CORS_ORIGINS", "https://*.example.com"],
    ["CORS_ORIGINS", "null"],
    ["CORS_ORIGINS", "https://a.example,"],
    ["CORS_ORIGINS", "https://a.example, https://b.example/path"],
    ["CORS_ORIGINS", Array.from({ length: 101 }, (_, i) => `https://a${i}.example`).join(",")],
    ["WEBHOOKS_ALLOW_PRIVATE", "maybe"],
    ["PAGES", "true"],
    ["PAGES_TIMEOUT", "31 seconds"],
    ["PAGES_CACHE_TTL", "25 hours"],
    ["PAGES_ROBOTS", "off"],
    ["PAGES_USER_AGENT", "Quärry"],
    ["PAGES_ALLOW_PRIVATE", "maybe"],
    ["PAGES_WORKERS", "0"],
    ["COMPRESSION", "true"],
    ["SERVER_TIMING", "no"],
    ["COMPAT", "searx"],
    ["COMPAT", "searxng,"],
    ["COMPAT", "Tavily"],
    ["COMPAT_ENGINES", "google"],
    ["COMPAT_ENGINES", "alpha_search=google"],
    ["COMPAT_ENGINES", "google=alpha_search,Google=beta_search"],
    ["COMPAT_KEYLESS_ACCOUNT", "me@example.com"],
    ["COMPAT_KEYLESS_NETWORKS", "0.0.0.0/0"],
    ["COMPAT_KEYLESS_NETWORKS", "10.0.0.0/8,8.8.8.8"],
    ["COMPAT_KEYLESS_NETWORKS", "172.0.0.0/8"],
    ["COMPAT_KEYLESS_NETWORKS", "::/0"],
    ["COMPAT_KEYLESS_NETWORKS", "localhost"],
    ["OPERATOR_CONSOLE", "true"],
    ["OPERATOR_NETWORKS", "office"],
    ["OPERATOR_NETWORKS", "192.0.2.0/33"],
    ["ADMIN_PORT", "65536"],
    ["BASE_URL", "api.example"],
    ["BASE_URL", "https://api.example/quarry"],
    ["BASE_URL", "https://api.example#docs"],
    ["DATABASE_POOL_SIZE", "0"],
    ["WORKERS", "0"],
    ["WORKERS", "257"],
    ["WORKERS", "all"],
    ["PROVIDER_TIMEOUT", "0"],
    ["PROVIDER_TIMEOUT", "15"],
    ["PROVIDER_TIMEOUT", "-3 seconds"],
    ["PROVIDER_TIMEOUT", "Infinity"],
    ["BULK_BUDGET", "an hour"],
    ["CACHE_SIZE", "many"],
    ["MARKETPLACE_PLAN", "gold"],
    ["TRUSTED_PROXY_HOPS", "1.5"],
    ["EMAIL_FROM", "Quarry"],
    ["EMAIL_FROM", "Quarry <quarry@example.com>, victim@example.com"],
    ["QUERY_LOG_RETENTION", "1 hour"],
    ["SEARXNG_ENGINES", "google"],
    ["SEARXNG_ENGINES", "omega_search=google"],
    ["LOG_LEVEL", "constructor"],
    ["LOG_FORMAT", "xml"],
    ["BILLING_PROVIDER", "cash"],
    ["POLAR_SERVER", "staging"],
    ["POLAR_BASE_URL", "api.polar.test"],
    ["POLAR_BASE_URL", "https://api.polar.test/v1"],
    ["POLAR_PRODUCT_PACK", "https://polar.test/products/1"],
    ["BILLING_GRACE", "3"],
    ["BILLING_GRACE", "31 days"],
    ["BILLING_CHECKOUT", "ajar"],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
    ["OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "http/json"],
    ["OTEL_TRACES_SAMPLER", "sometimes"]
  ] as const)("%s=%s is refused in one line that names it, what it got and what it takes", ([name, text]) =>
    Effect.gen(function* () {
      const message = yield* complaint({ [name]: text })
      const got = JSON.stringify(text).replaceAll("*", "\\*")
      assert.match(message, new RegExp(`^${name}: got ${got}; takes \\S.+\\.$`))
    })
  )

  it.effect.each([
    ["AUTH_SECRET", "k"],
    ["AUTH_SECRET", "k".repeat(31)],
    ["AUTH_SECRET", " ".repeat(40)],
    ["KEY_PEPPER", "k"],
    ["KEY_PEPPER", "k".repeat(31)],
    ["REDIS_URL", "redis://cache/sessions"],
    ["REDIS_URL", "redis://cache/1/2"],
    ["REDIS_URL", "redis://:%zz@cache"],
    ["REDIS_URL", "redis:6379"],
    ["REDIS_URL", "redis://a:6379/1,redis://b:6379/1"],
    ["DATABASE_URL", "postgres://"],
    ["DATABASE_URL", "postgres://u:%zz@db/quarry"],
    ["DATABASE_URL", "mysql://u:p@db/quarry"],
    ["SMTP_URL", "smtp://me:%zz@mail:25"],
    ["POLAR_WEBHOOK_SECRET", "whsec_a,whsec_b,whsec_c"],
    ["POLAR_WEBHOOK_SECRET", "whsec_a,"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a"],
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "nowhere"],
    ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "another"]
  ] as const)("%s=%s is refused in one line that names it and what it takes, and does not show it", ([name, text]) =>
    Effect.gen(function* () {
      const message = yield* complaint({ [name]: text })
      assert.match(message, new RegExp(`^${name}: got a value that is not shown; takes \\S[^\\n]+\\.$`))
    })
  )

  it.effect("a database of Redis may be named, and a secret of 32 characters is taken", () =>
    Effect.gen(function* () {
      const { redisUrl } = yield* load({ ...production, REDIS_URL: "redis://:a%20b@cache:6379/15" })
      assert.strictEqual(redisUrl && Redacted.value(redisUrl), "redis://:a%20b@cache:6379/15")
    })
  )

  it.effect("the two listeners cannot have one port", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* complaint({ ADMIN_PORT: "3000" }),
        "ADMIN_PORT: got 3000, which is PORT too; takes another port."
      )
      assert.strictEqual((yield* load({ ADMIN_PORT: "3000", ADMIN_HOST: "10.0.0.1" })).adminPort, 3000)
    })
  )

  it.effect("R54: DRAIN_DELAY is at most half of SHUTDOWN_GRACE, and without a value it is never more", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* complaint({ DRAIN_DELAY: "40 seconds" }),
        "DRAIN_DELAY: got 40s; takes at most 37s 500ms, half of SHUTDOWN_GRACE."
      )
      assert.strictEqual(describeSettings(yield* load({ DRAIN_DELAY: "37.5 seconds" })).DRAIN_DELAY, "37500 millis")
      assert.strictEqual(describeSettings(yield* load({ SHUTDOWN_GRACE: "4 seconds" })).DRAIN_DELAY, "2 seconds")
      assert.strictEqual(describeSettings(yield* load({ SHUTDOWN_GRACE: "0" })).DRAIN_DELAY, "0")
    })
  )

  it.effect.each(["DATABASE_URL", "REDIS_URL", "SEARXNG_URL", "SMTP_URL", "MARKETPLACE_PROXY_SECRET"] as const)(
    "a wrong %s is refused without being shown",
    (name) =>
      Effect.gen(function* () {
        const message = yield* complaint({ ...production, [name]: "hunter2,,hunter2" })
        assert.match(message, new RegExp(`^${name}: got a value that is not shown; takes`))
        assert.notInclude(message, "hunter2")
      })
  )

  it.effect("several wrong values are listed, each on its own line", () =>
    Effect.gen(function* () {
      const lines = (yield* complaint({ PORT: "x", CACHE_TTL: "y", LOG_LEVEL: "z" })).split("\n")
      assert.deepStrictEqual(
        lines.map((line) => line.slice(0, line.indexOf(":"))),
        ["PORT", "CACHE_TTL", "LOG_LEVEL"]
      )
    })
  )

  it.effect("DATABASE_URL requires both secrets and says how to make them", () =>
    Effect.gen(function* () {
      const lines = (yield* complaint({ DATABASE_URL: production.DATABASE_URL })).split("\n")
      assert.deepStrictEqual(
        lines.map((line) => line.slice(0, line.indexOf(":"))),
        ["AUTH_SECRET", "KEY_PEPPER"]
      )
      for (const line of lines) assert.include(line, "openssl rand -base64 32")
      assert.strictEqual((yield* load(production)).keyPepper?.map(Redacted.value).join(), production.KEY_PEPPER)
    })
  )

  it.effect("R56: a secret is two during a rotation, and one sentence with a comma stays one", () =>
    Effect.gen(function* () {
      const values = (pepper: string) =>
        Effect.map(load({ ...production, KEY_PEPPER: pepper }), ({ keyPepper }) => keyPepper?.map(Redacted.value))
      assert.deepStrictEqual(yield* values(`${"n".repeat(32)},${"o".repeat(32)}`), ["n".repeat(32), "o".repeat(32)])
      const sentence = "a pepper for tests, of 32 characters or more"
      assert.deepStrictEqual(yield* values(sentence), [sentence])
    })
  )

  it.effect.each([
    ["GOOGLE_CLIENT_ID", "GOOGLE_CLIENT_SECRET", "x"],
    ["GITHUB_CLIENT_SECRET", "GITHUB_CLIENT_ID", "x"],
    ["OIDC_CLIENT_ID", "OIDC_ISSUER", "x"],
    ["OIDC_CLIENT_SECRET", "OIDC_ISSUER", "x"],
    ["OIDC_DOMAINS", "OIDC_ISSUER", "example.com"],
    ["OIDC_ONLY", "OIDC_ISSUER", "true"],
    ["SMTP_URL", "EMAIL_FROM", "smtp://mail:25"],
    ["EMAIL_FROM", "SMTP_URL", "quarry@example.com"]
  ] as const)("%s is refused without %s", ([set, unset, value]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* complaint({ [set]: value }), `${unset}: not set; ${set} requires it.`)
    })
  )

  it.effect("R66: single sign-on needs its client, and OIDC_ONLY allows no other provider", () =>
    Effect.gen(function* () {
      const issuer = { OIDC_ISSUER: "https://login.example.com/realms/main/" }
      assert.strictEqual(
        yield* complaint(issuer),
        "OIDC_CLIENT_ID: not set; OIDC_ISSUER requires it.\nOIDC_CLIENT_SECRET: not set; OIDC_ISSUER requires it."
      )
      const whole = { ...issuer, OIDC_CLIENT_ID: "quarry", OIDC_CLIENT_SECRET: "hunter2", OIDC_ONLY: "true" }
      const config = yield* load({ ...whole, OIDC_DOMAINS: "Example.com, example.org" })
      assert.strictEqual(config.oidcIssuer, issuer.OIDC_ISSUER)
      assert.deepStrictEqual(config.oidcDomains, ["example.com", "example.org"])
      assert.strictEqual(
        yield* complaint({ ...whole, GITHUB_CLIENT_ID: "x", GITHUB_CLIENT_SECRET: "x" }),
        "GITHUB_CLIENT_ID: set; OIDC_ONLY=true allows no other provider."
      )
      assert.strictEqual((yield* load({ ...whole, OIDC_ISSUER: "http://[::1]:8080" })).oidcOnly, true)
    })
  )

  const keylessAccount = `acc_${"0".repeat(32)}`

  it.effect("R43: COMPAT, its engines and its keyless calls are read", () =>
    Effect.gen(function* () {
      const config = yield* load({
        COMPAT: "tavily, searxng,tavily",
        COMPAT_ENGINES: "Google = alpha_search, brave images=delta_search",
        COMPAT_KEYLESS_ACCOUNT: keylessAccount,
        COMPAT_KEYLESS_NETWORKS: "172.16.0.0/12, fd00::/8,192.168.1.7",
        HOST: "0.0.0.0"
      })
      assert.deepInclude(describeSettings(config), {
        COMPAT: "searxng,tavily",
        COMPAT_ENGINES: "google=alpha_search,brave images=delta_search",
        COMPAT_KEYLESS_NETWORKS: "172.16.0.0/12,fd00::/8,192.168.1.7"
      })
    })
  )

  it.effect("R43: keyless calls are let in from this machine, or from private networks that are named", () =>
    Effect.gen(function* () {
      const keyless = { COMPAT: "searxng", COMPAT_KEYLESS_ACCOUNT: keylessAccount }
      for (const HOST of ["127.0.0.1", "127.1.2.3", "::1", "localhost"]) yield* load({ ...keyless, HOST })
      for (const HOST of ["0.0.0.0", "::", "quarry", "10.0.0.1"]) {
        assert.match(
          yield* complaint({ ...keyless, HOST }),
          /^COMPAT_KEYLESS_NETWORKS: not set; .*172\.16\.0\.0\/12\.$/
        )
      }
      assert.strictEqual(
        yield* complaint({ COMPAT_KEYLESS_ACCOUNT: keylessAccount }),
        "COMPAT: not set; COMPAT_KEYLESS_ACCOUNT requires it."
      )
      assert.strictEqual(
        yield* complaint({ COMPAT: "searxng", COMPAT_KEYLESS_NETWORKS: "10.0.0.0/8" }),
        "COMPAT_KEYLESS_ACCOUNT: not set; COMPAT_KEYLESS_NETWORKS requires it."
      )
    })
  )

  const billing = {
    BILLING_PROVIDER: "polar",
    POLAR_ACCESS_TOKEN: "polar_oat_hunter2",
    POLAR_WEBHOOK_SECRET: "whsec_new,whsec_hunter2",
    POLAR_PRODUCT_STARTER: "p-1",
    POLAR_PRODUCT_GROWTH: "p-2",
    POLAR_PRODUCT_BUSINESS: "p-3",
    POLAR_PRODUCT_PACK: "p-4"
  }

  it.effect("BILLING_PROVIDER requires the token, the secret of webhooks and each product, one line for each", () =>
    Effect.gen(function* () {
      for (const name of Object.keys(billing).slice(1)) {
        const { [name]: _, ...others } = { ...billing } as Record<string, string>
        assert.strictEqual(yield* complaint(others), `${name}: not set; BILLING_PROVIDER=polar requires it.`)
      }
      assert.strictEqual((yield* complaint({ BILLING_PROVIDER: "polar" })).split("\n").length, 6)
      const { polarWebhookSecret } = yield* load(billing)
      assert.deepStrictEqual(polarWebhookSecret?.map(Redacted.value), ["whsec_new", "whsec_hunter2"])
    })
  )

  it.effect("two plans cannot have one product", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* complaint({ ...billing, POLAR_PRODUCT_PACK: "p-2" }),
        "POLAR_PRODUCT_PACK: the same as POLAR_PRODUCT_GROWTH; takes a separate product."
      )
    })
  )

  it.effect("token and secrets of the payment provider are shown nowhere", () =>
    Effect.gen(function* () {
      const config = yield* load(billing)
      assert.notInclude(JSON.stringify([config, describeSettings(config)]), "hunter2")
      assert.strictEqual(describeSettings(config).POLAR_WEBHOOK_SECRET, "<redacted>,<redacted>")
    })
  )

  it.effect("the rendered settings hold no secret and no password", () =>
    Effect.gen(function* () {
      const config = yield* load({
        DATABASE_URL: "postgres://quarry:hunter2@db:5432/quarry?sslpassword=hunter2",
        AUTH_SECRET: `https://${"hunter2".repeat(5)}`,
        KEY_PEPPER: "hunter2".repeat(5),
        REDIS_URL: "redis://:hunter2@a:6379, redis://:hunter2@b:6379",
        SEARXNG_URL: "http://me:hunter2@searx:8888",
        MARKETPLACE_PROXY_SECRET: "hunter2,hunter2b",
        GITHUB_CLIENT_ID: "an-id",
        GITHUB_CLIENT_SECRET: "hunter2",
        OIDC_ISSUER: "https://login.example.com",
        OIDC_CLIENT_ID: "an-id",
        OIDC_CLIENT_SECRET: "hunter2",
        SMTP_URL: "smtps://me:hunter2@mail:465",
        EMAIL_FROM: "Quarry <quarry@example.com>"
      })
      const shown = describeSettings(config)
      assert.notInclude(JSON.stringify(shown), "hunter2")
      assert.strictEqual(shown.DATABASE_URL, "postgres://quarry:<redacted>@db:5432/quarry?sslpassword=<redacted>")
      assert.strictEqual(shown.REDIS_URL, "redis://:<redacted>@a:6379,redis://:<redacted>@b:6379")
      assert.strictEqual(shown.AUTH_SECRET, "<redacted>")
      assert.strictEqual(shown.SMTP_URL, "smtps://me:<redacted>@mail:465")
      assert.strictEqual(shown.MARKETPLACE_PROXY_SECRET, "<redacted>,<redacted>")
    })
  )

  it.effect("the list of settings says where each comes from, and hides the same secrets", () =>
    Effect.gen(function* () {
      const environment = { PORT: "4000", GITHUB_CLIENT_ID: "an-id", GITHUB_CLIENT_SECRET: "hunter2", SMTP_URL: "" }
      const provider = ConfigProvider.layer(ConfigProvider.fromEnvRecord(environment))
      const shown = yield* list.pipe(Effect.provide(AppConfig.layer), Effect.provide(provider))
      const named = (name: string) => shown.find((setting) => setting.name === name)
      assert.notInclude(JSON.stringify(shown), "hunter2")
      assert.deepStrictEqual(named("PORT"), { name: "PORT", value: 4000, secret: false, source: "environment" })
      assert.deepInclude(named("HOST"), { value: "127.0.0.1", source: "default" })
      assert.deepInclude(named("GITHUB_CLIENT_SECRET"), { value: "<redacted>", secret: true, source: "environment" })
      assert.deepInclude(named("SMTP_URL"), { value: null, source: "default" })
      assert.deepInclude(named("AUTH_SECRET"), { secret: true, source: "data directory" })
    })
  )

  it.effect("a secret setting is redacted in the settings themselves, in every print", () =>
    Effect.gen(function* () {
      const config = yield* load({
        ...production,
        DATABASE_URL: "postgres://quarry:hunter2@db:5432/quarry",
        REDIS_URL: "redis://:hunter2@a:6379",
        SEARXNG_URL: "http://me:hunter2@searx:8888",
        SMTP_URL: "smtps://me:hunter2@mail:465",
        EMAIL_FROM: "quarry@example.com",
        OTEL_EXPORTER_OTLP_ENDPOINT: "https://me:hunter2@collector:4318",
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=hunter2"
      })
      assert.notInclude(JSON.stringify(config), "hunter2")
    })
  )

  it.effect("layerTest is the defaults on a store that keeps nothing, with what a test overrides", () =>
    Effect.gen(function* () {
      const config = yield* Effect.provide(AppConfig, AppConfig.layerTest({ trustedProxyHops: 2 }))
      assert.deepStrictEqual(
        { ...describeSettings(config) },
        { ...contract, DATA_DIR: "memory:", TRUSTED_PROXY_HOPS: 2 }
      )
    })
  )
})
