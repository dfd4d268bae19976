import { assert, describe, it } from "@effect/vitest"
import * as errors from "../../src/domain/errors.ts"

const message = "m"

/** The specification's error table, code by code, beside the class that stands for it. */
const table = [
  ["invalid_request", new errors.InvalidRequest({ message, issues: [] })],
  ["unsupported_geo", new errors.UnsupportedGeo({ message, details: [] })],
  ["unsupported_parameter", new errors.UnsupportedParameter({ message })],
  ["unauthorized", new errors.Unauthorized({ message })],
  [
    "quota_exceeded",
    new errors.QuotaExceeded({
      message,
      plan: "trial",
      quota: 100,
      creditsUsed: 100,
      remaining: 0,
      balance: 0,
      resetsAt: null
    })
  ],
  ["not_found", new errors.NotFound({ message })],
  ["rate_limited", new errors.RateLimited({ message, retryAfterSeconds: 1 })],
  ["internal_error", new errors.InternalError({ message })],
  ["upstream_error", new errors.UpstreamError({ message })],
  ["upstream_timeout", new errors.UpstreamTimeout({ message })],
  ["no_subscription", new errors.NoSubscription({ message })],
  ["plan_unchanged", new errors.PlanUnchanged({ message })],
  ["billing_unavailable", new errors.BillingUnavailable({ message })]
] as const

describe("errors", () => {
  for (const [code, error] of table) {
    it(`${code} is the tag of ${error.constructor.name}`, () => {
      assert.strictEqual(error._tag, code)
      assert.instanceOf(error, Error)
      assert.strictEqual(error.message, message)
    })
  }

  it("are those of the specification's table and no others", () => {
    const classes: Array<unknown> = Object.values(errors).filter(
      (value) => typeof value === "function" && value !== errors.Issue
    )
    assert.sameMembers(
      classes,
      table.map(([, error]): unknown => error.constructor)
    )
  })
})

describe("R6: an invalid request", () => {
  it("names its failed fields in the message too", () => {
    const error = errors.InvalidRequest.fromIssues([
      { field: "page", message: "must be a whole number" },
      { field: "queries.3.num", message: "is too large" }
    ])
    assert.strictEqual(
      error.message,
      "The request is not valid: page must be a whole number; queries.3.num is too large"
    )
    assert.deepStrictEqual(
      error.issues.map(({ field }) => field),
      ["page", "queries.3.num"]
    )
  })

  it("R3: as a whole has one issue, whose field is empty", () => {
    const error = errors.InvalidRequest.whole("The body is not JSON")
    assert.deepStrictEqual(error.issues, [{ field: "", message: "The body is not JSON" }])
    assert.strictEqual(error.message, "The request is not valid: The body is not JSON")
  })
})

describe("the errors without particulars", () => {
  it("carry their codes and a message", () => {
    assert.strictEqual(errors.unauthorized._tag, "unauthorized")
    assert.strictEqual(errors.internalError._tag, "internal_error")
    for (const error of [errors.unauthorized, errors.internalError]) assert.isNotEmpty(error.message)
  })
})

const framesOf = ({ stack = "" }: Error): number => stack.split("\n").filter((line) => /^ +at /.test(line)).length

describe("the errors that refuse a request", () => {
  it("keep no trace of where they were made, and leave it to others", () => {
    assert.strictEqual(framesOf(errors.RateLimited.of(5, 3)), 0)
    assert.strictEqual(framesOf(errors.InvalidRequest.whole("it is empty")), 0)
    assert.isAbove(framesOf(new errors.NotFound({ message: "nothing there" })), 0)
  })
})
