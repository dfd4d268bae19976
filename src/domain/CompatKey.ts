import { Result } from "effect"
import { Base64 } from "effect/encoding"
import { isKey } from "./ApiKey.ts"
import { bearerToken } from "./Credential.ts"

/** The headers in which clients of other services send a key; undefined where a header is absent. */
export interface KeyHeaders {
  readonly authorization: string | undefined
  readonly apiKey: string | undefined
  readonly subscriptionToken: string | undefined
}

const basic = /^Basic +(\S+)$/i

/** The key in a `Basic` credential, as its user or its password; undefined for another scheme or broken Base64. */
const basicKey = (authorization: string): string | undefined => {
  const [, encoded = ""] = basic.exec(authorization) ?? []
  const pair = Result.getOrElse(Base64.decodeString(encoded), () => "")
  const end = `${pair}:`.indexOf(":")
  const [user, password] = [pair.slice(0, end), pair.slice(end + 1)]
  return isKey(user) ? user : password
}

/**
 * The text that a request presents as its key: the first header that is present counts, valid or not (R43). Undefined where
 * none is. A scheme that holds no key presents the empty text, which is no key.
 */
export const presentedKey = ({ apiKey, authorization, subscriptionToken }: KeyHeaders): string | undefined =>
  authorization === undefined
    ? (apiKey ?? subscriptionToken)
    : (bearerToken(authorization) ?? basicKey(authorization) ?? "")
