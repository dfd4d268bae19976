import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { NetAddress } from "effect/net"
import * as fc from "fast-check"
import { budgetPeriodAt, describeBudget } from "../../../src/domain/credits/Budget.ts"
import {
  canonicalNetwork,
  changeBounds,
  isWithin,
  readNetworks,
  unbounded
} from "../../../src/domain/keys/KeyBounds.ts"
import { ApiKeyChange } from "../../../src/domain/keys/NewKey.ts"
import { decoder } from "../../../src/domain/requests/fields.ts"

const parseApiKeyChange = decoder(ApiKeyChange)

const address = (text: string) => NetAddress.toCanonical(NetAddress.ipFromStringUnsafe(text))
const within = (network: string, text: string) => isWithin(readNetworks([network]), address(text))

const moment = fc.integer({ min: 0, max: Date.parse("2200-01-01T00:00:00Z") })

describe("R50: periods of a budget", () => {
  it("R50: a day and a month contain their moment, begin at midnight UTC and follow each other without a gap", () => {
    fc.assert(
      fc.property(moment, fc.constantFrom("day", "month"), (now, period) => {
        const { end = 0, start } = budgetPeriodAt(period, now)
        const iso = new Date(start).toISOString()
        assert.isTrue(start <= now && now < end)
        assert.isTrue(iso.endsWith(period === "day" ? "T00:00:00.000Z" : "-01T00:00:00.000Z"))
        assert.strictEqual(
          iso.slice(0, period === "day" ? 10 : 7),
          new Date(now).toISOString().slice(0, period === "day" ? 10 : 7)
        )
        assert.strictEqual(budgetPeriodAt(period, end).start, end)
        assert.strictEqual(budgetPeriodAt(period, end - 1).start, start)
      })
    )
  })

  it("R50: a life has one period", () => {
    fc.assert(
      fc.property(moment, (now) => assert.deepStrictEqual(budgetPeriodAt("life", now), { start: 0, end: undefined }))
    )
    assert.strictEqual(describeBudget({ credits: 1, period: "life" }), "1 credit in total")
    assert.strictEqual(describeBudget({ credits: 20, period: "month" }), "20 credits each UTC month")
  })
})

describe("R50: networks of a key", () => {
  it.each([
    ["203.0.113.0/24", "203.0.113.255", "203.0.114.0"],
    ["10.0.0.0/8", "::ffff:10.1.2.3", "11.0.0.1"],
    ["::ffff:10.0.0.0/104", "10.200.0.1", "11.0.0.1"],
    ["2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"],
    ["192.0.2.1", "192.0.2.1", "192.0.2.2"],
    ["::1/128", "::1", "127.0.0.1"],
    ["0.0.0.0/0", "8.8.8.8", "2001:db8::1"],
    ["::/0", "2001:db8::1", "8.8.8.8"]
  ])("%s holds %s and not %s", (network, inside, outside) => {
    assert.deepStrictEqual([within(network, inside), within(network, outside)], [true, false])
  })

  it.each([
    "10.0.0.1/8",
    "10.0.0.0/33",
    "10.0.0.0/",
    "/8",
    "10.0.0/24",
    "2001:db8::/129",
    "fe80::1%eth0/64",
    "example.com",
    "",
    " 10.0.0.0/8"
  ])("%s is not a network", (text) => assert.isUndefined(canonicalNetwork(text)))

  it("R50: every IPv4 network is kept in one form, and holds exactly the addresses with its prefix", () => {
    const bits = fc.integer({ min: 0, max: 2 ** 32 - 1 })
    const text = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".")
    fc.assert(
      fc.property(bits, bits, fc.integer({ min: 0, max: 32 }), (network, other, prefix) => {
        const mask = prefix === 0 ? 0 : (0xffffffff << (32 - prefix)) >>> 0
        const first = (network & mask) >>> 0
        const cidr = `${text(first)}/${prefix}`
        assert.strictEqual(canonicalNetwork(cidr), cidr)
        assert.strictEqual(within(cidr, text(other)), (other & mask) >>> 0 === first)
      })
    )
  })

  it("an address that is not known is in no network", () =>
    assert.isFalse(isWithin(readNetworks(["0.0.0.0/0", "::/0"]), undefined)))
})

describe("R50: changes of bounds", () => {
  const part = <A>(value: fc.Arbitrary<A>) => fc.oneof(value, fc.constant(null), fc.constant(undefined))
  const change = fc.record({
    expiresAt: part(moment),
    budget: part(
      fc.record({ credits: fc.integer({ min: 1, max: 9 }), period: fc.constantFrom("day" as const, "life" as const) })
    ),
    targets: part(fc.constant(["beta_search"] as const)),
    networks: part(fc.constant(["10.0.0.0/8"]))
  })

  it("R50: the last word on each bound counts: a value sets it, null removes it, and nothing leaves it", () => {
    fc.assert(
      fc.property(change, change, (first, second) => {
        const bounds = changeBounds(changeBounds(unbounded, first), second)
        for (const name of ["expiresAt", "budget", "targets", "networks"] as const) {
          const last = second[name] === undefined ? first[name] : second[name]
          assert.deepStrictEqual(bounds[name], last ?? undefined)
        }
      })
    )
  })

  it("R6: a body of any shape is decoded or answered with its fields, and never throws", () => {
    const body = fc.record(
      { expires_at: fc.anything(), budget: fc.anything(), targets: fc.anything(), networks: fc.anything() },
      { requiredKeys: [] }
    )
    fc.assert(
      fc.property(body, (input) => {
        const parsed = parseApiKeyChange(input)
        if (Result.isSuccess(parsed)) return
        for (const [index, { field, message }] of parsed.failure.issues.entries()) {
          // The last of 20 issues may say how many more there are (R70).
          if (index === 19 && field === "") continue
          assert.match(field, /^(expires_at|budget|targets|networks)(\.|$)/)
          assert.notInclude(message, "Expected")
        }
      })
    )
  })
})

describe("R50: the networks of a key", () => {
  it("are 1 to 32", () => {
    const networks = (count: number) => Array.from({ length: count }, (_, index) => `203.0.113.${index}/32`)
    assert.deepStrictEqual(
      [0, 1, 32, 33].map((count) => Result.isSuccess(parseApiKeyChange({ networks: networks(count) }))),
      [false, true, true, false]
    )
  })
})
