import { Console, Duration, Effect, Option, Ref, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { parseAddress } from "../../domain/net/address.ts"
import { targets } from "../../domain/search/Target.ts"
import { plural } from "../../domain/text.ts"
import * as CrawlState from "../../layers/index/crawl/CrawlState.ts"
import { type CrawlReport, crawl as crawlSite } from "../../layers/index/crawl/SiteCrawl.ts"
import { AppConfig } from "../../settings/Settings.ts"
import { optional, optionalText, toggle } from "../flags.ts"
import { CommandFailed, Json, print } from "../Output.ts"
import { recordFirst } from "../operations/audited.ts"

const maxShown = 20

const addressOf = (text: string): Option.Option<URL> => {
  const url = parseAddress(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    return Option.none()
  url.hash = ""
  return Option.some(url)
}

const stateFileOf = (address: URL, target: string | undefined): string =>
  `.quarry-crawls/${address.host.replaceAll(/[^a-z0-9.-]/gi, "_")}${target === undefined ? "" : `-${target}`}.jsonl`

const keptUnfound =
  "Pages that this crawl did not find were kept, because pages may be missing after the problems of this crawl."

const pages = (count: number): string => plural(count, "page")

const report = Effect.fnUntraced(function* ({ failed, loaded, problems, removed, unchanged }: CrawlReport) {
  const inJson = yield* Json
  for (const { problem, url } of inJson ? [] : problems.slice(0, maxShown)) yield* Console.error(`${url}: ${problem}`)
  yield* print({ loaded, unchanged, removed, failed, problems }, [
    `Loaded ${pages(loaded)}, ${unchanged} unchanged, ${removed} removed, ${failed} failed.`
  ])
  if (loaded + unchanged > 0) return
  return yield* new CommandFailed({
    message:
      "No page of the site could be loaded. Check the address, and --include, --exclude and --depth if you gave them."
  })
})

/** Draws only on a terminal. A log already gets the totals in the result. */
const makeProgress = Effect.gen(function* () {
  const stdio = yield* Stdio.Stdio
  if (!(yield* stdio.stderrIsTerminal)) return () => Effect.void
  return (count: number) =>
    Effect.ignore(Stream.run(Stream.make(`\r\u001b[KRead ${pages(count)}`), stdio.stderr({ endOnDone: false })))
})

const wholeNumber = (name: string) =>
  Flag.Int(name).pipe(
    Flag.filter(
      (value) => value >= 0,
      () => "0 or more"
    )
  )

export const crawl = Command.make(
  "crawl",
  {
    address: Argument.String("address").pipe(
      Argument.withDescription("The site's address, such as https://docs.example.org/"),
      Argument.filterMap(addressOf, () => "an http(s) address without user and password")
    ),
    maxPages: wholeNumber("max-pages").pipe(
      Flag.withDescription("The most pages to read (default: 10000)"),
      Flag.withDefault(10_000)
    ),
    depth: wholeNumber("depth").pipe(
      Flag.withDescription("The most links from the address to a page, if the site has no sitemap (default: any)"),
      optional
    ),
    include: Flag.String("include").pipe(
      Flag.withDescription("Read only these paths: a prefix as in robots.txt, with * and a final $. May be repeated"),
      Flag.atLeast(0)
    ),
    exclude: Flag.String("exclude").pipe(
      Flag.withDescription("Do not read these paths. May be repeated"),
      Flag.atLeast(0)
    ),
    delay: wholeNumber("delay").pipe(
      Flag.withDescription("Milliseconds from one request to the next (default: 1000)"),
      Flag.withDefault(1_000)
    ),
    target: Flag.Literals("target", targets).pipe(
      Flag.withDescription("The target these pages are for (default: all six)"),
      optional
    ),
    replace: toggle(
      "replace",
      "Remove pages that are gone or excluded, and after a crawl without errors those it did not find"
    ),
    state: optionalText("state", "The file that remembers loaded pages (default: .quarry-crawls/HOST.jsonl)")
  },
  Effect.fn(function* ({ address, delay, depth, exclude, include, maxPages, replace, state, target }) {
    const { pagesTimeout } = yield* AppConfig
    const opened = yield* CrawlState.open(state ?? stateFileOf(address, target))
    yield* recordFirst({
      command: "index crawl",
      subject: undefined,
      arguments: { address: address.href, target, ...(replace ? { replace } : {}) }
    })
    if (opened.isResumed) yield* Console.error("Resuming the crawl that was stopped.")
    const options = {
      address,
      maxPages,
      depth,
      include,
      exclude,
      delay: Duration.millis(delay),
      timeout: pagesTimeout,
      target,
      replace
    }
    const count = yield* Ref.make(0)
    const progress = yield* makeProgress
    const onPage = (pages: number) => Effect.andThen(Ref.set(count, pages), progress(pages))
    const result = yield* crawlSite(options, opened, onPage).pipe(
      Effect.onInterrupt(() =>
        Effect.flatMap(Ref.get(count), (read) =>
          Console.error(`Stopped after ${pages(read)}. Run the same command again to go on.`)
        )
      )
    )
    if (replace && !result.findsAll) yield* Console.error(keptUnfound)
    yield* report(result)
  })
).pipe(Command.withDescription("Load a site: the pages in its sitemap, or else the pages its links lead to"))
