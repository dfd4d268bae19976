/** Settings of the floor, with the same names as Quarry's settings. */
export const settings = {
  port: Number(process.env.PORT ?? 3002),
  databaseUrl: process.env.DATABASE_URL ?? "postgres://postgres@127.0.0.1:5432/quarry",
  redisUrl: process.env.REDIS_URL ?? "redis://127.0.0.1:6379/1",
  searxngUrl: process.env.SEARXNG_URL ?? "http://127.0.0.1:8888",
  keyPepper: process.env.KEY_PEPPER ?? ""
} as const
