import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Result } from "effect"
import type { AccountPrincipal } from "../../src/domain/accounts/Principal.ts"
import { PageUnreadable } from "../../src/domain/errors.ts"
import { parsePages } from "../../src/domain/pages/PagesRequest.ts"
import { CurrentRequest, makeRequestState } from "../../src/domain/requests/CurrentRequest.ts"
import type { Accounts } from "../../src/services/accounts/Accounts.ts"
import { QueryLog } from "../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import type { KeyStore } from "../../src/services/keys/KeyStore.ts"
import { PageBatches } from "../../src/services/pages/PageBatches.ts"
import { PageFetcher } from "../../src/services/pages/PageFetcher.ts"
import { PageParser } from "../../src/services/pages/PageParser.ts"
import { Pages } from "../../src/services/pages/Pages.ts"
import { aCaller, found, providing, servicesOver } from "../support/api/Services.ts"
import * as EmbeddedDatabase from "../support/stores/EmbeddedDatabase.ts"
import * as MemoryStorage from "../support/stores/MemoryStorage.ts"
import * as SqlStorage from "../support/stores/SqlStorage.ts"

/** Pages whose path says how they end. */
const web = Layer.merge(
  Layer.succeed(PageFetcher, {
    fetch: (url) => {
      if (url.pathname === "/gone") return Effect.fail(PageUnreadable.because("not_found", 404))
      if (url.pathname === "/boom") return Effect.die(new Error("a bug"))
      const page = { finalUrl: url.href, status: 200, contentType: "text/plain", bytes: Buffer.from("text") }
      return Effect.delay(Effect.succeed(page), "20 millis")
    }
  }),
  Layer.succeed(PageParser, {
    parse: ({ bytes }) => {
      const text = Buffer.from(bytes).toString()
      const none = { title: null, description: null, author: null, siteName: null, published: null, language: null }
      return Effect.succeed({ ...none, mediaType: "text/plain", markdown: text, text, links: [] })
    }
  })
)

const providers = providing(() => Effect.succeed(found(1)))

const pageOf = (path: string) => ({
  url: `http://site.test${path}`,
  format: "markdown" as const,
  start: 0,
  maxChars: 10,
  withLinks: false,
  maxAgeSeconds: 0,
  source: undefined
})

const rowsOf = (...paths: ReadonlyArray<string>) =>
  Result.getOrThrow(parsePages({ urls: paths.map((path) => `http://site.test${path}`), max_age: 0 }))

type Stores = Accounts | KeyStore | Ledger | Pages | PageBatches | QueryLog

const storages: Readonly<Record<string, Layer.Layer<Stores>>> = {
  memory: servicesOver(MemoryStorage.layer, providers, { web }),
  database: Layer.orDie(servicesOver(SqlStorage.layer(EmbeddedDatabase.layer), providers, { web }))
}

const payer = Effect.map(
  Effect.suspend(() => aCaller({ plan: "growth" })),
  // The cast: the caller has a key, and so an account.
  ({ principal }) => principal as AccountPrincipal
)

const usedBy = ({ account }: AccountPrincipal) =>
  Effect.flatMap(Ledger, (ledger) => Effect.map(ledger.allowance(account), ({ used }) => used))

/** The books agree, and nothing is held any more. */
const assertCharged = Effect.fnUntraced(function* (principal: AccountPrincipal, credits: number, entries: number) {
  const logged = yield* (yield* QueryLog).recent(principal.account.id, 100)
  assert.lengthOf(logged, entries)
  assert.strictEqual(
    logged.reduce((sum, entry) => sum + entry.credits, 0),
    credits
  )
  assert.strictEqual(yield* usedBy(principal), credits)
  assert.deepStrictEqual(yield* (yield* Ledger).verify, [])
})

for (const [name, services] of Object.entries(storages)) {
  layer(services, { excludeTestServices: true })(`pages over the ${name} store`, (it) => {
    it.effect("R58: read, unread and broken pages leave exact books", () =>
      Effect.gen(function* () {
        const principal = yield* payer
        const pages = yield* Pages
        for (const path of ["/a", "/gone", "/b"]) yield* pages.run(principal, pageOf(path))
        yield* Effect.exit(pages.run(principal, pageOf("/boom")))
        yield* assertCharged(principal, 2, 3)
      })
    )

    it.effect("R44: a key whose page was not read is free again", () =>
      Effect.gen(function* () {
        const principal = yield* payer
        const pages = yield* Pages
        for (const path of ["/gone", "/gone"]) yield* pages.runKeyed(principal, pageOf(path), "k")
        for (const path of ["/a", "/a"]) yield* pages.runKeyed(principal, pageOf(path), "l")
        yield* assertCharged(principal, 1, 3)
      })
    )

    it.effect("R61: a batch is charged for the pages that were read, as a whole and in lines", () =>
      Effect.gen(function* () {
        const principal = yield* payer
        const batches = yield* PageBatches
        const rows = rowsOf("/a", "/gone", "/b", "/boom")
        const { receipt } = yield* batches.run(principal, rows)
        assert.strictEqual(receipt.creditsUsed, 2)
        yield* assertCharged(principal, 2, 3)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { take } = yield* batches.stream(principal, rows)
            while ((yield* take).length > 0);
          })
        )
        yield* assertCharged(principal, 4, 6)
      })
    )

    it.effect("R21: who leaves a batch pays for the rows that had started", () =>
      Effect.gen(function* () {
        const principal = yield* payer
        const batches = yield* PageBatches
        const record = makeRequestState(crypto.randomUUID())
        const paths = Array.from({ length: 20 }, (_, index) => `/${index}`)
        const fiber = yield* Effect.forkChild(
          Effect.provideService(batches.run(principal, rowsOf(...paths)), CurrentRequest, record)
        )
        yield* Effect.sleep("30 millis")
        yield* Fiber.interrupt(fiber)
        yield* Effect.all(record.work)
        const used = yield* usedBy(principal)
        assert.strictEqual(record.fields.credits, used)
        assert.isBelow(used, 20)
        yield* assertCharged(principal, used, used)
      })
    )
  })
}
