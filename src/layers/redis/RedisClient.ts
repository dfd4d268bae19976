import { Effect, Redacted } from "effect"
import { Cluster, Redis } from "ioredis"

export type RedisClient = Redis | Cluster

/** The longest that a start waits for Redis before it goes on without (R28). */
const startMs = 1_000

/** A connection that owes an answer for so long is closed: after a network cut no other sign of its end may come. */
const silentMs = 1_000

const retryDelayMs = (times: number): number => Math.min(times * 50, 500)

/**
 * Nothing waits inside the client: a command is sent at once or fails. It is not sent again over a later connection,
 * because a request that is counted twice could deny another.
 */
const nodeOptions = { maxRetriesPerRequest: 0, connectTimeout: startMs, socketTimeout: silentMs }
const clientOptions = { lazyConnect: true, enableOfflineQueue: false }

const single = (address: string): Redis =>
  new Redis(address, {
    ...nodeOptions,
    ...clientOptions,
    retryStrategy: retryDelayMs,
    // A primary that became a replica keeps its connections: only a new one finds the primary behind the address.
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
    // The nodes that a cluster names come without a login, and with TLS they are named as their certificates are.
    ...(protocol === "rediss:"
      ? { redisOptions: { ...nodeOptions, ...login, tls: {} }, dnsLookup: (host, found) => found(null, host) }
      : { redisOptions: { ...nodeOptions, ...login } })
  })
}

/** One address is one server; several, separated by commas, are nodes of a cluster. */
export const makeClient = (url: Redacted.Redacted): RedisClient => {
  const addresses = Redacted.value(url)
    .split(",")
    .map((address) => address.trim())
  return addresses.length > 1 ? cluster(addresses) : single(addresses[0] ?? "")
}

/**
 * Sends the commands of one turn of the event loop in one write, because a write costs more than the rest of a command.
 * Nothing is held longer. The connections to a cluster's nodes are left as they are.
 */
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

/** The text of an error. The error itself holds the failed command, and that of a login has the password. */
export const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "no reason given"
  if (error.name === "MaxRetriesPerRequestError") return noConnection
  // A cluster's own error says only that no node answered well.
  if ("lastNodeError" in error && error.lastNodeError instanceof Error) return messageOf(error.lastNodeError)
  return error.message || ("code" in error ? String(error.code) : error.name)
}

/** Codes of a Redis that answers and does not take the command: full, read-only, not persisting, loading, split. */
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

/** The code at the beginning of an error's text, where it is one of a known few: others would each make a series. */
export const codeOf = (message: string): string | undefined => {
  const code = /^[A-Z]+/.exec(message)?.[0]
  return code !== undefined && codes.has(code) ? code : undefined
}

/**
 * True for the answer of a Redis that does not take the login or the database of the address. Unlike one that is away it
 * does not recover, and without the database that was named the client goes on in another one.
 */
export const isAddressFault = (message: string): boolean =>
  /^(WRONGPASS|NOAUTH|NOPERM|ERR (invalid password|DB index|SELECT))/.test(message)

/** A node that has just joined a cluster answers, and fails every command with a key for some seconds. */
const assertInCluster = async (node: Redis): Promise<void> => {
  if (!(await node.cluster("INFO")).includes("cluster_state:ok")) throw new Error("the cluster is down")
}

/** Fails unless Redis takes a write: a full, read-only or loading one is away too. In a cluster every primary must be well. */
export const probe = async (client: RedisClient): Promise<void> => {
  if (client instanceof Cluster) await Promise.all(client.nodes("master").map(assertInCluster))
  await client.set("quarry:probe", "", "PX", 1_000)
}

/** Connects in the background, and ends when that has succeeded or taken too long. */
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
