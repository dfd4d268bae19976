/** Settings of the baseline, with the same names as Quarry's settings. */
export const settings = {
  port: Number(process.env.PORT ?? 3001),
  databaseUrl: process.env.DATABASE_URL ?? "postgres://postgres@127.0.0.1:5432/baseline",
  redisUrl: process.env.REDIS_URL ?? "redis://127.0.0.1:6379",
  searxngUrl: process.env.SEARXNG_URL ?? "http://127.0.0.1:8888",
  keyPepper: process.env.KEY_PEPPER ?? "",
  /** Quarry's default, so that both have the same number of connections. */
  poolSize: Number(process.env.DATABASE_POOL_SIZE ?? 10),
  /** `transactions`: BEGIN, a statement at a time, COMMIT. `statements`: one statement with CTEs for each phase. */
  ledger: process.env.BASELINE_LEDGER === "statements" ? "statements" : "transactions"
} as const
