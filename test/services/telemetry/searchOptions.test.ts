import { assert, describe, it } from "@effect/vitest"
import type { Tracer } from "effect"
import { describeSearch } from "../../../src/services/telemetry/Tracing.ts"
import { searchRequest } from "../../support/api/requests.ts"

/** The attributes of a span that describes a search. */
const attributesOf = (request: Parameters<typeof searchRequest>[0], withText: boolean) => {
  const attributes: Record<string, unknown> = {}
  const span = {
    sampled: true,
    attribute: (name: string, value: unknown) => {
      attributes[name] = value
    }
  }
  // `describeSearch` reads nothing else of a span.
  describeSearch(span as unknown as Tracer.Span, searchRequest(request), withText)
  return attributes
}

describe("describeSearch", () => {
  const options = { freshness: "week", includeDomains: ["a.org", "b.org"], topic: "news" } as const

  it("R62: says which options a search used, and its domains only with the text of queries", () => {
    const plain = { "quarry.target": "alpha_search", "quarry.geo": "us" }
    assert.deepStrictEqual(attributesOf({}, false), plain)
    const used = {
      ...plain,
      "quarry.options": "freshness,include_domains,topic",
      "quarry.freshness": "week",
      "quarry.topic": "news"
    }
    assert.deepStrictEqual(attributesOf({ options }, false), used)
    assert.deepStrictEqual(attributesOf({ options, query: "x" }, true), {
      ...used,
      "quarry.query": "x",
      "quarry.include_domains": "a.org,b.org"
    })
  })
})
