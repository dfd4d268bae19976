import { Result } from "effect"
import { Base64 } from "effect/encoding"
import { bearerToken } from "../accounts/Credential.ts"
import { isKey } from "../keys/ApiKey.ts"

export interface KeyHeaders {
  readonly authorization: string | undefined
  readonly apiKey: string | undefined
  readonly subscriptionToken: string | undefined
}

const basic = /^Basic +(\S+)$/i

const basicKey = (authorization: string): string | undefined => {
  const [, encoded = ""] = basic.exec(authorization) ?? []
  const pair = Result.getOrElse(Base64.decodeString(encoded), () => "")
  const end = `${pair}:`.indexOf(":")
  const [user, password] = [pair.slice(0, end), pair.slice(end + 1)]
  return isKey(user) ? user : password
}

/** The key in the first header present, valid or not (R43). Empty for a credential without a key. */
export const presentedKey = ({ apiKey, authorization, subscriptionToken }: KeyHeaders): string | undefined =>
  authorization === undefined
    ? (apiKey ?? subscriptionToken)
    : (bearerToken(authorization) ?? basicKey(authorization) ?? "")
