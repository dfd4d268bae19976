import { Effect, Redacted } from "effect"
import { Cluster, Redis } from "ioredis"
import * as Script from "./Script.ts"

export type RedisClient = Redis | Cluster

/** Maximum time that startup waits for Redis before it continues without it (R28). */
const startMs = 1_000

/** A network cut may give no other sign. */
const silentMs = 1_000

const retryDelayMs = (times: number): number => Math.min(times * 50, 500)

/** Commands are sent at once or fail, and are never resent: a request that is counted twice could deny another. */
const nodeOptions = { maxRetriesPerRequest: 0, connectTimeout: startMs, socketTimeout: silentMs }
const clientOptions = { lazyConnect: true, enableOfflineQueue: false }

const single = (address: string): Redis =>
  new Redis(address, {
    ...nodeOptions,
    ...clientOptions,
    retryStrategy: retryDelayMs,
    // A primary that became a replica keeps its connections. Only a new connection reaches the new primary.
    reconnectOnError: (error) => error.message.startsWith("READONLY")
  })

const cluster = (addresses: ReadonlyArray<string>): Cluster => {
  const { password, protocol, username } = new URL(addresses[0] ?? "")
  const login = { username: decodeURIComponent(username), password: decodeURIComponent(password) }
  return new Cluster([...addresses], {
    ...clientOptions,
    clusterRetryStrategy: retryDelayMs,
    clusterNodeRetryStrategy: retryDelayMs,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshInterval: 1_000,
    // Nodes that the cluster announces have no login, and with TLS their names must stay as in their certificates.
    ...(protocol === "rediss:"
      ? { redisOptions: { ...nodeOptions, ...login, tls: {} }, dnsLookup: (host, found) => found(null, host) }
      : { redisOptions: { ...nodeOptions, ...login } })
  })
}

export const makeClient = (url: Redacted.Redacted): RedisClient => {
  const addresses = Redacted.value(url)
    .split(",")
    .map((address) => address.trim())
  return addresses.length > 1 ? cluster(addresses) : single(addresses[0] ?? "")
}

/** One write per turn of the event loop: a write costs more than the rest of a command. Not for clusters. */
export const makeWriter = (client: RedisClient) => {
  const stream = () => (client instanceof Redis && client.status === "ready" ? client.stream : undefined)
  let corked: Redis["stream"] | undefined
  const flush = (): void => {
    corked?.uncork()
    corked = undefined
  }
  const hold = (): void => {
    if (corked !== undefined) return
    corked = stream()
    if (corked === undefined) return
    corked.cork()
    setImmediate(flush)
  }
  return { hold, isHolding: () => corked !== undefined }
}

export const noConnection = "no connection"

/** Do not log the error itself: it contains the failed command, which may have the password. */
export const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown error"
  if (error.name === "MaxRetriesPerRequestError") return noConnection
  // A cluster's own error does not give the cause.
  if ("lastNodeError" in error && error.lastNodeError instanceof Error) return messageOf(error.lastNodeError)
  return error.message || ("code" in error ? String(error.code) : error.name)
}

const codes: ReadonlySet<string> = new Set([
  "OOM",
  "READONLY",
  "MISCONF",
  "NOREPLICAS",
  "LOADING",
  "BUSY",
  "MASTERDOWN",
  "CLUSTERDOWN",
  "NOAUTH",
  "NOPERM",
  "WRONGPASS"
])

/** Undefined for unknown codes, which would each add a metric series. */
export const codeOf = (message: string): string | undefined => {
  const code = /^[A-Z]+/.exec(message)?.[0]
  return code !== undefined && codes.has(code) ? code : undefined
}

/** Redis does not recover from these faults, and with a wrong database the client would use another one. */
export const isAddressFault = (message: string): boolean =>
  /^(WRONGPASS|NOAUTH|NOPERM|ERR (invalid password|DB index|SELECT))/.test(message)

/** A node that has just joined a cluster responds, but for some seconds fails every command with a key. */
const assertInCluster = async (node: Redis): Promise<void> => {
  if (!(await node.cluster("INFO")).includes("cluster_state:ok")) throw new Error("the cluster is down")
}

/** A full, read-only or loading Redis counts as down. */
export const probe = async (client: RedisClient): Promise<void> => {
  if (client instanceof Cluster) await Promise.all(client.nodes("master").map(assertInCluster))
  await client.set("quarry:probe", "", "PX", 1_000)
}

/** Calls every command that Quarry's scripts use, because Redis checks a user's rights only when a command runs. */
const everyCommand = `
redis.call("TIME")
redis.call("DEL", KEYS[1])
redis.call("RPUSH", KEYS[1], "")
redis.call("LLEN", KEYS[1])
redis.call("LINDEX", KEYS[1], 0)
redis.call("LPOP", KEYS[1])
redis.call("SET", KEYS[1], "", "PX", 1000)
redis.call("GET", KEYS[1])
redis.call("PEXPIRE", KEYS[1], 1000)
return redis.call("DEL", KEYS[1])
`

const rightsScript = Script.make<number>(everyCommand)

/** Returns what the user of REDIS_URL lacks a right for, in Redis's words. Undefined if it may do all that is needed. */
export const missingRight = async (client: RedisClient): Promise<string | undefined> => {
  try {
    await client.get("quarry:probe")
    // A script that this server has seen is called by EVALSHA alone, but EVAL is needed once it has forgotten it.
    await client.eval(everyCommand, 1, "quarry:rights")
    await rightsScript(client, "quarry:rights")
    return undefined
  } catch (error) {
    const message = messageOf(error)
    return /NOPERM|can't run this command|no permissions/i.test(message) ? message : undefined
  }
}

/** Returns once connected, or after `startMs`. Connecting continues in the background. */
export const connect = (client: RedisClient) =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), startMs)
    client.once("ready", () => {
      clearTimeout(timer)
      resume(Effect.void)
    })
    client.connect().catch(() => undefined)
    return Effect.sync(() => clearTimeout(timer))
  })
