import { APIError } from "better-auth/api"
import type { Endpoint } from "better-call"
import { Duration, Predicate } from "effect"
import type { AttemptLimit, Attempts } from "../Attempts.ts"
import type { Bridge } from "../betterAuth/Database.ts"
import type { Handler } from "./Handler.ts"

/** The library's signed requests stay valid after a decision. Longer than their lifetime. */
const limit: AttemptLimit = { name: "authorization-decisions", max: 1, window: Duration.hours(1) }

interface Deps {
  readonly bridge: Bridge
  readonly attempts: Attempts
}

/** The library has verified it. */
const signatureOf = (body: unknown): string => {
  const request = Predicate.hasProperty(body, "oauth_query") ? body.oauth_query : undefined
  return new URLSearchParams(typeof request === "string" ? request : "").get("sig") ?? ""
}

const decided = () => new APIError("BAD_REQUEST", { error: "invalid_request", error_description: "already decided" })

/** Rejects a request that was decided. */
export const undecided =
  ({ attempts, bridge }: Deps, endpoint: Endpoint): Handler =>
  async (context) => {
    if (await bridge.run(attempts.isSpent(limit, signatureOf(context.body)))) throw decided()
    return endpoint(context)
  }

/** Of simultaneous decisions, one counts and the others wait for it. A decision that fails does not count. */
export const decidedOnce =
  ({ attempts, bridge }: Deps, endpoint: Endpoint): Handler =>
  (context) =>
    bridge.transaction(async () => {
      if ((await bridge.run(attempts.count(limit, signatureOf(context.body)))) !== undefined) throw decided()
      return endpoint(context)
    })
