import { Effect } from "effect"
import type { RefusalReason } from "../../src/domain/providers/Refusal.ts"
import * as HttpProvider from "../../src/layers/providers/described/HttpProvider.ts"
import { ConnectionFailed, type Reply, UpstreamClient } from "../../src/layers/providers/UpstreamClient.ts"
import type { UpstreamRequest } from "../../src/layers/providers/UpstreamRequest.ts"
import type { Chance } from "./Chance.ts"
import { firstUrl, type Mood, moodOf, type Outside, type Upstream } from "./Upstreams.ts"

/** The only target that is searched here. It has one page and no levels of safe search. */
const target = "gamma_search"

const description = {
  request: {
    method: "GET",
    url: "https://dee.test/search",
    query: { q: "{query}", country: "{geo}", language: "{locale}", count: "{num}" }
  },
  response: { rows: "found", url: "link", title: "name", snippet: "text" },
  pages: { size: 100 },
  refusals: [{ status: 400, at: "code", is: "spent", reason: "quota" }]
}

type Sent = readonly [status: number, body: string, headers?: Readonly<Record<string, string>>]

const rowsFor = (parameters: URLSearchParams): string => {
  const text = (name: string) => parameters.get(name) ?? ""
  const asked = { query: text("q"), geo: text("country"), locale: text("language"), num: Number(text("count")) }
  const link = firstUrl({ ...asked, target, page: 1, safe: "off" })
  return JSON.stringify({ found: [{ link, name: "Result 1", text: "found" }] })
}

const refusals: { readonly [R in RefusalReason]: Sent } = {
  blocked: [403, JSON.stringify({ error: "captcha" })],
  quota: [400, JSON.stringify({ code: "spent" })],
  rate_limited: [429, "{}", { "retry-after": "30" }],
  unauthorized: [401, "{}"],
  unreachable: [503, "{}"],
  malformed: [200, JSON.stringify({ lost: [] })],
  timeout: [504, "{}"],
  unserved: [422, "{}"],
  busy: [502, "<html>"]
}

const sentIn = (mood: Exclude<Mood, "silent" | "broken">, parameters: URLSearchParams): Sent => {
  if (mood === "well" || mood === "slow") return [200, rowsFor(parameters)]
  return mood === "empty" ? [200, JSON.stringify({ found: [] })] : refusals[mood]
}

const replyOf = ([status, body, headers = {}]: Sent): Reply => ({
  status,
  header: (name) => ({ "content-type": "application/json", ...headers })[name],
  body: () => Effect.sync(() => Buffer.from(body))
})

/** The internet between a replica and the upstream. */
const clientOf = (upstream: Upstream, chance: Chance, { called, now }: Outside) =>
  UpstreamClient.of({
    exchange: <A, E, R>({ parameters }: UpstreamRequest, use: (reply: Reply) => Effect.Effect<A, E, R>) =>
      Effect.suspend((): Effect.Effect<A, E | ConnectionFailed, R> => {
        called(upstream)
        const mood = moodOf(upstream, now())
        if (mood === "silent") return Effect.never
        const wait = Effect.sleep(chance.wait(mood === "slow" ? 6_000 : 150))
        if (mood === "broken") return Effect.andThen(wait, new ConnectionFailed({ code: "ECONNRESET" }))
        return Effect.andThen(
          wait,
          Effect.suspend(() => use(replyOf(sentIn(mood, new URLSearchParams(parameters)))))
        )
      })
  })

/** The provider of type `http` through which a replica calls an upstream. */
export const describedAt = (upstream: Upstream, chance: Chance, outside: Outside) =>
  HttpProvider.type.make(upstream.name, description).pipe(
    Effect.map((engines) => engines(undefined)),
    Effect.provideService(UpstreamClient, clientOf(upstream, chance, outside)),
    Effect.orDie
  )
