import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as errors from "../../src/domain/errors.ts"

describe("R6: an invalid request", () => {
  it("names its failed fields in the message too", () => {
    const error = errors.InvalidRequest.fromIssues([
      { field: "page", message: "must be a whole number" },
      { field: "queries.3.num", message: "is too large" }
    ])
    assert.strictEqual(error.message, "The request is invalid: page must be a whole number; queries.3.num is too large")
    assert.deepStrictEqual(
      error.issues.map(({ field }) => field),
      ["page", "queries.3.num"]
    )
  })

  it("R3: as a whole has one issue, whose field is empty", () => {
    const error = errors.InvalidRequest.whole("The body is not JSON")
    assert.deepStrictEqual(error.issues, [{ field: "", message: "The body is not JSON" }])
    assert.strictEqual(error.message, "The request is invalid: The body is not JSON")
  })
})

describe("R70: the list of issues", () => {
  const { maxIssueCharacters, maxIssues } = errors
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "binary", minLength: 200, maxLength: 2000 }))

  it("has at most 20 entries of at most 300 characters, and keeps what fits", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ field: text, message: text }), { maxLength: 40 }), (issues) => {
        const bounded = errors.InvalidRequest.fromIssues(issues)
        assert.isAtMost(bounded.issues.length, maxIssues)
        for (const [index, { field, message }] of bounded.issues.entries()) {
          assert.isAtMost(field.length + message.length, maxIssueCharacters)
          const given = issues[index]
          if (index === maxIssues - 1 || given === undefined || given.field.length > 100) continue
          if (given.field.length + given.message.length <= maxIssueCharacters)
            assert.deepStrictEqual({ field, message }, given)
          else assert.isTrue(given.message.startsWith(message.slice(0, -1)))
        }
        assert.isAtMost(bounded.message.length, (maxIssues + 1) * maxIssueCharacters)
      })
    )
  })

  it("says in its last entry how many are left out", () => {
    const issues = Array.from({ length: 25 }, (_, n) => ({ field: `f${n}`, message: "is wrong" }))
    assert.strictEqual(errors.InvalidRequest.fromIssues(issues.slice(0, 20)).issues.at(-1)?.field, "f19")
    const { issues: listed } = errors.InvalidRequest.fromIssues(issues)
    assert.deepStrictEqual(listed.at(-2), issues[18])
    assert.deepStrictEqual(listed.at(-1), { field: "", message: "6 more fields are invalid" })
  })

  it("cuts no character into halves", () => {
    for (const length of [298, 299, 300]) {
      const { issues } = errors.InvalidRequest.fromIssues([
        { field: "", message: `${"a".repeat(length)}${"🦉".repeat(9)}` }
      ])
      assert.isTrue(issues[0]?.message.isWellFormed())
    }
  })
})

describe("quota_exceeded", () => {
  const allowance = {
    plan: "trial",
    quota: 100,
    used: 98,
    balance: 1,
    periodStart: undefined,
    resetsAt: undefined
  } as const

  it("has the figures of the allowance that did not suffice", () => {
    const { message, ...figures } = errors.QuotaExceeded.of(allowance, 4)
    assert.include(figures, { plan: "trial", quota: 100, creditsUsed: 98, remaining: 2, balance: 1, resetsAt: null })
    assert.strictEqual(message, "This needs 4 credits, but only 2 of the quota and 1 pack credits are left.")
  })

  it("names one credit in the singular", () => {
    assert.match(errors.QuotaExceeded.of({ ...allowance, used: 100, balance: 0 }, 1).message, /^This needs 1 credit,/)
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
