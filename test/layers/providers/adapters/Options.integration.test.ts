import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { parseParameters, toSearch } from "../../../../src/domain/search/SearchRequest.ts"
import * as ProviderFile from "../../../../src/layers/providers/ProviderFile.ts"
import { unservedBy } from "../../../../src/services/providers/Provider.ts"
import { firstOf, foundations } from "../../../support/api/ProviderTable.ts"
import { differences } from "../../../support/servers/optionRequests.ts"
import { json, serve } from "../../../support/servers/UpstreamServer.ts"
import { upstreams } from "../../../support/servers/upstreams.ts"

/** The table of docs/guides/search-options.md: what each adapter sends for each parameter. */
const page = readFileSync(new URL("../../../../docs/guides/search-options.md", import.meta.url), "utf8")

interface Line {
  readonly provider: string
  readonly parameter: string
  readonly request: string
  readonly documentation: string
}

const lines = page
  .split("\n")
  .filter((line) => /^\| `[a-z]+(?: [a-z]+)?` \| `[a-z_]+=/.test(line))
  .map((line): Line => {
    const [, provider = "", parameter = "", request = "", documentation = ""] = line
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll("\\|", "|"))
    return { provider: provider.replaceAll("`", ""), parameter: parameter.replaceAll("`", ""), request, documentation }
  })

/** The day that the table's examples are of. */
const today = Date.parse("2026-11-24T12:00:00Z")

const searchWith = (parameter: string) => {
  const fields = Object.fromEntries(new URLSearchParams(parameter))
  return Result.getOrThrow(Result.flatMap(parseParameters({ query: "quarry", ...fields }), toSearch))
}

const parameters = [
  "freshness=week",
  "after=2026-01-31",
  "before=2026-02-28",
  "include_domains=example.org",
  "include_domains=docs.example.net/guide,example.org",
  "exclude_domains=example.org",
  "topic=news"
]

/** What the provider is sent for a parameter, as the table has it. */
const sentFor = ({ provider: name, parameter }: Pick<Line, "provider" | "parameter">) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(today)
    const [type, engine] = name.split(" ")
    const fixture = upstreams.find((it) => it.type === type) ?? assert.fail(`${type} has no fixture`)
    const { received, url } = yield* serve(json(fixture.answer([1])))
    const chosen = engine ?? fixture.engine
    const file = {
      providers: { it: { type, url: `${url}/`, ...fixture.entry } },
      targets: { alpha_search: [{ provider: "it", ...(chosen === undefined ? {} : { engine: chosen }) }] }
    }
    const request = searchWith(parameter)
    const isServed = yield* Effect.gen(function* () {
      const provider = firstOf(yield* Effect.orDie(ProviderFile.table({ _tag: "file", path: "providers.json" })))
      if (unservedBy(provider, request) !== undefined) return false
      yield* Effect.ignore(provider.search(searchWith("")))
      yield* Effect.ignore(provider.search(request))
      return true
    }).pipe(Effect.provide(foundations(file)))
    if (!isServed) return "skipped"
    const [plain, sent] = received.filter(({ path }) => path !== "/config")
    if (plain === undefined || sent === undefined) return assert.fail("nothing was sent")
    const changes = differences(plain, sent)
    return changes.length === 0 ? "filtered" : changes.map((change) => `\`${change}\``).join(", ")
  })

describe("search options of each provider", () => {
  for (const line of lines) {
    it.effect(`${line.provider} is sent what the documentation says for ${line.parameter}`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* sentFor(line), line.request)
      })
    )
  }

  it("the table has every provider with every parameter, and a source for everything that is sent", () => {
    const found = lines.map(({ parameter, provider }) => `${provider.split(" ")[0]} ${parameter}`)
    for (const { type } of upstreams) {
      for (const parameter of parameters) assert.include(found, `${type} ${parameter}`)
    }
    for (const { documentation, request } of lines) {
      if (request !== "filtered" && request !== "skipped") assert.match(documentation, /^\[.+\]\(https:\/\/.+\)$/)
    }
  })
})
