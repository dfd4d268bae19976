import { hash } from "node:crypto"
import type { RedisClient } from "./RedisClient.ts"

/** The cast holds if the script returns a `Reply`, which nothing can check. A new script takes two round trips. */
export const make = <Reply>(script: string) => {
  const digest = hash("sha1", script)
  return (client: RedisClient, key: string, ...args: ReadonlyArray<number>): Promise<Reply> =>
    client.evalsha(digest, 1, key, ...args).catch((error: Error) => {
      if (!error.message.startsWith("NOSCRIPT")) throw error
      return client.eval(script, 1, key, ...args)
    }) as Promise<Reply>
}
