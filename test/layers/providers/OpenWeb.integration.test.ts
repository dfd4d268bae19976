import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ProviderFile from "../../../src/layers/providers/ProviderFile.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { foundations } from "../../support/api/ProviderTable.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { json, serve } from "../../support/servers/UpstreamServer.ts"
import { searchProviders } from "../../support/Time.ts"

const pages: Readonly<Record<string, object>> = {
  "Lisbon population": { key: "Lisbon", title: "Lisbon", excerpt: "Capital of <b>Portugal</b>" },
  "Ada Lovelace": { key: "Ada_Lovelace", title: "Ada Lovelace", excerpt: "English mathematician" }
}
const hits: Readonly<Record<string, object>> = {
  "Postgres 19 released": {
    objectID: "1",
    title: "Postgres 19",
    url: "https://postgres.test/19",
    created_at: "2026-11-20T00:00:00Z"
  }
}
const items: Readonly<Record<string, object>> = {
  "ENOSPC inotify watchers": {
    question_id: 22475849,
    title: "Node.js: what is ENOSPC?",
    excerpt: "Raise &quot;max_user_watches&quot;"
  }
}

const listOf = (found: object | undefined) => (found === undefined ? [] : [found])

/** Answers as the three services do, by their paths. */
const services = serve((received, response) => {
  const query = received.query.get("q") ?? received.query.get("query") ?? ""
  const body = received.path.endsWith("/search/page")
    ? { pages: listOf(pages[query]) }
    : received.path.endsWith("/search/excerpts")
      ? { items: listOf(items[query]), has_more: false }
      : { hits: listOf(hits[query]), nbHits: 0 }
  json(body)(received, response)
})

const questions: ReadonlyArray<readonly [string, string, string]> = [
  ["a city", "Lisbon population", "https://en.wikipedia.org/wiki/Lisbon"],
  ["a person", "Ada Lovelace", "https://en.wikipedia.org/wiki/Ada_Lovelace"],
  ["a news item", "Postgres 19 released", "https://postgres.test/19"],
  ["a programming error", "ENOSPC inotify watchers", "https://stackoverflow.com/questions/22475849"]
]

describe("R86: a web without a key", () => {
  for (const [what, query, expected] of questions) {
    it.live(`open.json finds ${what}, and merges it with the index`, () =>
      Effect.gen(function* () {
        const { received, url } = yield* services
        const example = readFileSync(new URL("../../../examples/providers/open.json", import.meta.url), "utf8")
        const local = example.replaceAll(
          /https:\/\/(?:en\.wikipedia\.org\/w\/rest|hn\.algolia\.com|api\.stackexchange\.com)/g,
          (address) => (address.endsWith("/w/rest") ? `${url}/w/rest` : url)
        )
        const layer = Layer.provideMerge(
          Layer.provide(ProviderFile.layer({ _tag: "file", path: "open.json" }), foundations(JSON.parse(local))),
          Layer.merge(ProviderStates.layer, StandardSettings.layer)
        )
        const answer = yield* Effect.provide(searchProviders(searchRequest({ query })), layer)
        const urls = answer.ranking.results.map((result) => result.url)
        assert.sameMembers(urls, [expected, "https://index.test/"])
        assert.strictEqual(received.length, 3)
        assert.strictEqual(answer.provider, "wikipedia + hackernews + stackexchange + index")
      })
    )
  }
})
