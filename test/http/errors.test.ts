import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { OpenApi } from "effect/http-api"
import * as domain from "../../src/domain/errors.ts"
import { CurrentRequest, makeRequestState } from "../../src/domain/requests/CurrentRequest.ts"
import { Api } from "../../src/http/Api.ts"
import { type ApiError, encodeApiError, schemas } from "../../src/http/errors.ts"
import { type Document, errorsOf } from "../../src/site/docs/document.ts"

/** Codes and statuses in the contract's table of errors. */
const contract = Array.from(
  readFileSync("docs/contract.md", "utf8").matchAll(/^\| `([a-z_]+)` \| ([45]\d\d) \|/gm),
  ([, code, status]) => `${status} ${code}`
)

const message = 'a message with "quotes" and ü'
const quota = { message, plan: "growth", quota: 75_000, creditsUsed: 74_999, remaining: 1, balance: 2 } as const

/** One error of each code, and of those with optional parts one more. */
const examples: { readonly [Code in keyof typeof schemas]: ReadonlyArray<ApiError & { readonly _tag: Code }> } = {
  invalid_request: [new domain.InvalidRequest({ message, issues: [{ field: "num", message }] })],
  unsupported_geo: [new domain.UnsupportedGeo({ message, details: ["de", "us"] })],
  unsupported_parameter: [new domain.UnsupportedParameter({ message })],
  unauthorized: [domain.unauthorized],
  forbidden: [new domain.Forbidden({ message })],
  fresh_sign_in_required: [domain.freshSignInRequired],
  not_found: [new domain.NotFound({ message })],
  quota_exceeded: [
    new domain.QuotaExceeded({ ...quota, resetsAt: 1_790_000_000_123 }),
    new domain.QuotaExceeded({ ...quota, resetsAt: null })
  ],
  rate_limited: [domain.RateLimited.of(60, 7), new domain.RateLimited({ message })],
  internal_error: [domain.internalError],
  page_unreadable: [domain.PageUnreadable.because("not_found", 404), domain.PageUnreadable.because("unreachable")],
  upstream_error: [new domain.UpstreamError({ message })],
  upstream_timeout: [new domain.UpstreamTimeout({ message })],
  idempotency_in_progress: [domain.idempotencyInProgress],
  last_owner: [new domain.LastOwner({ message })],
  no_subscription: [new domain.NoSubscription({ message })],
  plan_unchanged: [new domain.PlanUnchanged({ message })],
  payment_failed: [new domain.PaymentFailed({ message })],
  billing_busy: [new domain.BillingBusy({ message, retryAfterSeconds: 3 })],
  billing_unavailable: [new domain.BillingUnavailable({ message })]
}

const requestId = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

describe("the API's errors", () => {
  it.effect("have the envelopes that their schemas encode, byte for byte", () =>
    Effect.gen(function* () {
      for (const error of Object.values(examples).flat()) {
        const { body } = yield* encodeApiError(error)
        const encoded = yield* Schema.encodeUnknownEffect(schemas[error._tag])(error)
        assert.strictEqual(JSON.stringify(body), JSON.stringify(encoded))
      }
    }).pipe(Effect.provideService(CurrentRequest, makeRequestState(requestId)))
  )

  it("are those of the contract's table, with its statuses", () => {
    // The cast: the generated document has these parts, as the reference's own tests show.
    const document = OpenApi.fromApi(Api) as unknown as Document
    assert.isNotEmpty(contract)
    assert.sameMembers(
      errorsOf(document).map(([status, code]) => `${status} ${code}`),
      contract
    )
  })
})
