import { type Duration, Effect, Layer } from "effect"
import { PageUnreadable } from "../../../../src/domain/errors.ts"
import type { ParsedPage } from "../../../../src/domain/pages/Page.ts"
import { PageFetcher } from "../../../../src/services/pages/PageFetcher.ts"
import { PageParser } from "../../../../src/services/pages/PageParser.ts"
import type { TestPage, TestPageAnswer } from "./TestQuarry.ts"

const parsed = ({ content, links = [], media_type, text, ...metadata }: TestPage): ParsedPage => ({
  title: metadata.title ?? null,
  description: metadata.description ?? null,
  author: metadata.author ?? null,
  siteName: metadata.site_name ?? null,
  published: metadata.published ?? null,
  language: metadata.language ?? null,
  mediaType: media_type ?? "text/html",
  markdown: content,
  text: text ?? content,
  links
})

/** A web whose pages a function makes. They pass from the fetcher to the parser as JSON. */
export const web = (answer: (url: string) => TestPageAnswer | Promise<TestPageAnswer>) =>
  Layer.merge(
    Layer.succeed(PageFetcher, {
      fetch: Effect.fnUntraced(function* (url: URL, _: unknown, timeout: Duration.Duration) {
        const page = yield* Effect.promise(async () => answer(url.href))
        if (page === "never") return yield* Effect.delay(PageUnreadable.because("timed_out"), timeout)
        if (typeof page === "string") return yield* PageUnreadable.because(page)
        const bytes = new TextEncoder().encode(JSON.stringify(parsed(page)))
        return { finalUrl: page.final_url ?? url.href, status: 200, contentType: "text/html", bytes }
      })
    }),
    Layer.succeed(PageParser, {
      parse: ({ bytes }) => Effect.sync((): ParsedPage => JSON.parse(new TextDecoder().decode(bytes)))
    })
  )
