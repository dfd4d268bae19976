import { assert } from "@effect/vitest"
import { type Item, parseList } from "structured-headers"

type Get = (name: string) => string | null | undefined

/** The single item of a field: its name and parameters. Fails if the field is not a structured list (RFC 9651). */
const itemOf = (get: Get, name: string) => {
  const list = parseList(get(name) ?? "")
  assert.lengthOf(list, 1, `${name}: ${get(name)}`)
  const [value, parameters] = list[0] as Item // No field of ours has an inner list.
  return { value, parameters: Object.fromEntries(parameters) }
}

/** Checks `RateLimit-Policy` and `RateLimit` (R45): they are present and have the same values as `X-RateLimit-*`. */
export const assertRateLimitFields = (status: number, get: Get): void => {
  const limit = get("x-ratelimit-limit") ?? undefined
  if (limit === undefined) {
    for (const name of ["ratelimit-policy", "ratelimit"]) assert.notExists(get(name), name)
    return
  }
  assert.deepStrictEqual(itemOf(get, "ratelimit-policy"), { value: "minute", parameters: { q: Number(limit), w: 60 } })
  const { parameters, value } = itemOf(get, "ratelimit")
  assert.strictEqual(value, "minute")
  assert.sameMembers(Object.keys(parameters), ["r", "t"])
  assert.strictEqual(parameters.r, Number(get("x-ratelimit-remaining")))
  assert.isTrue(Number.isInteger(parameters.t) && Number(parameters.t) >= 1 && Number(parameters.t) <= 60, "t")
  const retryAfter = get("retry-after") ?? undefined
  // Otherwise Retry-After is not about the limiter: the payment provider is down (R42), or the process is full (R57).
  if (status === 429 && parameters.r === 0 && retryAfter !== undefined)
    assert.strictEqual(parameters.t, Number(retryAfter), "t is Retry-After")
}

/** Checks that `t` counts from the time of the response to `X-RateLimit-Reset`. Both are rounded up. */
export const assertReset = (get: Get, fromMs: number, toMs: number): void => {
  const reset = get("x-ratelimit-reset") ?? undefined
  if (reset === undefined) return
  const respondedAt = Number(reset) - Number(itemOf(get, "ratelimit").parameters.t)
  assert.isAtLeast(respondedAt, Math.floor(fromMs / 1000) - 1, "t")
  assert.isAtMost(respondedAt, Math.ceil(toMs / 1000) + 1, "t")
}
