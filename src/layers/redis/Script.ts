import { hash } from "node:crypto"
import type { RedisClient } from "./RedisClient.ts"

/**
 * Runs a Lua script on one key in one round trip, or two if Redis has not seen the script since it started. `Reply` is
 * the type that the script returns. Nothing can check it, hence the cast.
 */
export const make = <Reply>(script: string) => {
  const digest = hash("sha1", script)
  return (client: RedisClient, key: string, ...args: ReadonlyArray<number>): Promise<Reply> =>
    client.evalsha(digest, 1, key, ...args).catch((error: Error) => {
      if (!error.message.startsWith("NOSCRIPT")) throw error
      return client.eval(script, 1, key, ...args)
    }) as Promise<Reply>
}
