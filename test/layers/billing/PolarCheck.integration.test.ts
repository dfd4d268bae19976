import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { standardPlans } from "../../../src/domain/credits/Plan.ts"
import { Plans } from "../../../src/services/credits/Plans.ts"
import type { FakePolar } from "../../support/polar/FakePolar.ts"
import { polar, webhookUrl } from "../../support/polar/Provider.ts"

const ownPlans = { ...standardPlans, starter: { ...standardPlans.starter, priceCents: 1_200 } }

/** The findings at a fake to which something was done, those that are wrong alone. */
const wrong = Effect.fnUntraced(function* (spoil: (fake: FakePolar) => void, plans?: Layer.Layer<Plans>) {
  const { fake, provider } = yield* polar({ webhookUrl }, {}, plans)
  spoil(fake)
  const findings = yield* provider.check
  return findings.filter(({ ok }) => !ok).map(({ message, subject }) => `${subject}: ${message}`)
})

const product = (fake: FakePolar, name: keyof FakePolar["productIds"]) => fake.model.product(fake.productIds[name])
const endpoint = ({ deliveries }: FakePolar) => deliveries.endpoint ?? assert.fail("There is no endpoint.")

describe("billing check", () => {
  it.effect("finds nothing wrong, and leaves nothing at the provider", () =>
    Effect.gen(function* () {
      const { fake, provider } = yield* polar({ webhookUrl })
      const findings = yield* provider.check
      assert.deepStrictEqual(
        findings.map(({ ok, subject }) => [subject, ok]),
        [
          ["token", true],
          ["scopes", true],
          ["products", true],
          ["products", true],
          ["products", true],
          ["products", true],
          ["webhooks", true]
        ]
      )
      const { checkouts, customers, sessions } = fake.model
      assert.deepStrictEqual([checkouts.size, customers.size, sessions.size], [0, 0, 0])
    })
  )

  const cases: ReadonlyArray<readonly [string, (fake: FakePolar) => void, RegExp]> = [
    ["a token that is not accepted", (fake) => fake.fail("401"), /^token: .*POLAR_ACCESS_TOKEN/],
    [
      "scopes that are missing",
      ({ missingScopes }) => missingScopes.add("disputes:read").add("checkouts:write"),
      /^scopes: .*checkouts:write, disputes:read/
    ],
    [
      "a price that is not the plan's",
      (fake) => Object.assign(product(fake, "growth"), { cents: 5_000 }),
      /POLAR_PRODUCT_GROWTH costs \$50\.00 and not \$49\.00/
    ],
    [
      "a price in another currency",
      (fake) => Object.assign(product(fake, "growth"), { currency: "eur" }),
      /POLAR_PRODUCT_GROWTH does not have exactly one fixed price in usd/
    ],
    [
      "a plan that is paid once a year",
      (fake) => Object.assign(product(fake, "starter"), { interval: "year" }),
      /POLAR_PRODUCT_STARTER is not billed every month/
    ],
    [
      "a product that is archived",
      (fake) => Object.assign(product(fake, "business"), { isArchived: true }),
      /POLAR_PRODUCT_BUSINESS is archived/
    ],
    [
      "a product that is not there",
      (fake) => fake.model.products.delete(fake.productIds.pack),
      /POLAR_PRODUCT_PACK does not exist/
    ],
    [
      "packs that are a subscription",
      (fake) => Object.assign(product(fake, "pack"), { interval: "month" }),
      /POLAR_PRODUCT_PACK is a subscription/
    ],
    ["no endpoint", (fake) => fake.deliverTo("http://127.0.0.1:9/elsewhere"), /^webhooks: .*no webhook endpoint for/],
    [
      "an endpoint that was switched off",
      (fake) => Object.assign(endpoint(fake), { enabled: false }),
      /^webhooks: Polar has disabled the webhook endpoint/
    ],
    [
      "events that are missing",
      (fake) => Object.assign(endpoint(fake), { events: ["order.paid"] }),
      /^webhooks: .*lacks the events order\.updated, .*customer\.deleted/
    ],
    [
      "deliveries that fail",
      ({ deliveries }) =>
        deliveries.log.push({ eventId: "e", at: 0, status: 500 }, { eventId: "f", at: 0, status: 202 }),
      /^webhooks: 1 of the latest 2 deliveries failed/
    ]
  ]

  it.effect("names POLAR_BASE_URL where that address refuses the token or does not answer", () =>
    Effect.gen(function* () {
      const [refused = ""] = yield* wrong((fake) => fake.fail("401"))
      assert.match(refused, /\(POLAR_BASE_URL is http:/)
      const away = yield* polar({}, { baseUrl: "http://127.0.0.1:9" })
      const { reason } = yield* Effect.flip(away.provider.check)
      assert.match(reason, /could not be reached .*POLAR_BASE_URL is http:\/\/127\.0\.0\.1:9/)
    })
  )

  it.effect("R75: compares prices with the operator's plans", () =>
    Effect.gen(function* () {
      const [message = "", ...others] = yield* wrong(() => {}, Layer.succeed(Plans, ownPlans))
      assert.deepStrictEqual(others, [])
      assert.match(message, /POLAR_PRODUCT_STARTER costs \$9\.00 and not \$12\.00/)
    })
  )

  it.effect.each(cases)("finds %s", ([, spoil, expected]) =>
    Effect.gen(function* () {
      const found = yield* wrong(spoil)
      assert.lengthOf(found, 1)
      assert.match(found[0] ?? "", expected)
    })
  )
})
