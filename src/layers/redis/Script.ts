import { hash } from "node:crypto"
import type { RedisClient } from "./RedisClient.ts"

/**
 * One round trip, or two if Redis has not seen the script since it started. Nothing can check that the script returns a
 * `Reply`, hence the cast.
 */
export const make = <Reply>(script: string) => {
  const digest = hash("sha1", script)
  return (client: RedisClient, key: string, ...args: ReadonlyArray<number>): Promise<Reply> =>
    client.evalsha(digest, 1, key, ...args).catch((error: Error) => {
      if (!error.message.startsWith("NOSCRIPT")) throw error
      return client.eval(script, 1, key, ...args)
    }) as Promise<Reply>
}
