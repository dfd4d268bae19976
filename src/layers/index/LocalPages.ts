import { Effect, FileSystem, Path, Ref, Result, Stream } from "effect"
import { addressOf, filesOf, isMarkdown, isPage, titleOf } from "../../domain/pages/pageAddress.ts"
import { rootCauseMessage } from "../../domain/rootCause.ts"
import type { Document } from "../../services/index/DocumentIndex.ts"
import { type DocumentProblem, type DocumentSource, DocumentSourceError } from "./DocumentSource.ts"

/** A parsed page takes many times its size in memory. */
const maxFileBytes = 5_000_000

/** The maximum that the sitemap protocol allows. */
const maxSitemapBytes = 50 * 1024 * 1024

const maxFiles = 2_000_000

/** Files read ahead, so that the disk is busy while a page is parsed. */
const readAhead = 8

interface LocalPage {
  readonly file: string
  readonly url: string
}

type Entry = Result.Result<LocalPage, DocumentProblem>

const decodeBytes = (bytes: Uint8Array): string => {
  const beginning = new TextDecoder("latin1").decode(bytes.subarray(0, 1_024))
  const label = /<meta[^>]+charset=["']?([\w-]+)/i.exec(beginning)?.[1] ?? "utf-8"
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

const pageText = Effect.promise(() => import("./PageText.ts"))

const readPage = Effect.fnUntraced(function* ({ file, url }: LocalPage) {
  const files = yield* FileSystem.FileSystem
  const problem = (text: string, line?: number) => Result.fail({ file, line, problem: text })
  const bytes = yield* Effect.result(
    Effect.flatMap(files.stat(file), ({ size }) =>
      size > maxFileBytes ? Effect.succeed(undefined) : files.readFile(file)
    )
  )
  if (Result.isFailure(bytes)) return problem(`cannot be read: ${rootCauseMessage(bytes.failure)}`)
  if (bytes.success === undefined) return problem(`larger than ${maxFileBytes} bytes`)
  const { readHtml, readMarkdown } = yield* pageText
  const text = decodeBytes(bytes.success)
  const page = isMarkdown(file) ? readMarkdown(text) : readHtml(text)
  if ("problem" in page) return problem(page.problem, page.line)
  return Result.succeed({ page, url })
})

const canonicalOf = (address: string | undefined): string | undefined =>
  address !== undefined && URL.canParse(address) && /^https?:/i.test(address) ? new URL(address).href : undefined

const documentOf = (entry: Entry) =>
  Result.isFailure(entry)
    ? Effect.succeed(Result.fail(entry.failure))
    : Effect.map(readPage(entry.success), (read) =>
        Result.map(read, ({ page, url }): Document => {
          const { canonical, language, published, title, ...rest } = page
          const texts = { ...rest, url: canonicalOf(canonical) ?? url, title: title || titleOf(url) }
          return {
            ...texts,
            ...(language === undefined ? {} : { language }),
            ...(published === undefined ? {} : { published })
          }
        })
      )

const source = (
  entries: Effect.Effect<ReadonlyArray<Entry>, DocumentSourceError, FileSystem.FileSystem | Path.Path>
): Effect.Effect<DocumentSource> =>
  Effect.map(Ref.make({ read: 0, total: 1 }), (progress) => ({
    documents: Stream.unwrap(
      Effect.gen(function* () {
        const all = yield* entries
        yield* Ref.set(progress, { read: 0, total: Math.max(1, all.length) })
        return Stream.fromIterable(all).pipe(
          Stream.mapEffect(documentOf, { concurrency: readAhead }),
          Stream.tap(() => Ref.update(progress, ({ read, total }) => ({ read: read + 1, total })))
        )
      })
    ),
    share: Effect.map(Ref.get(progress), ({ read, total }) => read / total)
  }))

const unreadable = (path: string) => (error: unknown) =>
  new DocumentSourceError({ message: `${path} cannot be read: ${rootCauseMessage(error)}` })

/** Sorted. Skips hidden files, `node_modules`, and symbolic links, which can form loops. */
const pagesBelow = Effect.fnUntraced(function* (folder: string) {
  const files = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const found: Array<string> = []
  const waiting = [""]
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    const directory = join(folder, below)
    const entries = yield* Effect.mapError(files.readDirectoryEntries(directory), unreadable(directory))
    for (const { name, type } of entries) {
      if (name.startsWith(".") || name === "node_modules") continue
      const path = below === "" ? name : `${below}/${name}`
      if (type === "Directory") waiting.push(path)
      else if (type === "File" && isPage(name)) found.push(path)
    }
    if (found.length > maxFiles) {
      return yield* new DocumentSourceError({ message: `${folder} has more than ${maxFiles} pages.` })
    }
  }
  return found.sort()
})

export const openFolder = (folder: string, base: URL): Effect.Effect<DocumentSource> =>
  source(
    Effect.gen(function* () {
      const { join } = yield* Path.Path
      const paths = yield* pagesBelow(folder)
      if (paths.length === 0) {
        return yield* new DocumentSourceError({ message: `${folder} has no HTML or Markdown files.` })
      }
      return paths.map((path): Entry => Result.succeed({ file: join(folder, path), url: addressOf(path, base) }))
    })
  )

const readLocations = Effect.fnUntraced(function* (sitemap: string) {
  const files = yield* FileSystem.FileSystem
  const { size } = yield* Effect.mapError(files.stat(sitemap), unreadable(sitemap))
  if (size > maxSitemapBytes) {
    return yield* new DocumentSourceError({ message: `${sitemap} is larger than ${maxSitemapBytes} bytes.` })
  }
  const xml = yield* Effect.mapError(files.readFileString(sitemap), unreadable(sitemap))
  if (/<sitemapindex[\s>]/.test(xml)) {
    return yield* new DocumentSourceError({ message: `${sitemap} is a sitemap index. Load each of its sitemaps.` })
  }
  const { readSitemap } = yield* pageText
  const locations = readSitemap(xml)
  if (locations.length > 0) return locations
  return yield* new DocumentSourceError({ message: `${sitemap} has no URLs. A sitemap lists them in loc elements.` })
})

const locate = Effect.fnUntraced(function* (
  { address, line }: { readonly address: string; readonly line: number },
  { base, folder, sitemap }: SitemapOptions
): Effect.fn.Return<Entry, never, FileSystem.FileSystem | Path.Path> {
  const files = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const fail = (problem: string): Entry => Result.fail({ file: sitemap, line, problem })
  const url = URL.parse(address)
  if (url === null || base === undefined) return fail(`${address} is not an absolute address`)
  const names = filesOf(url, base)
  if (names.length === 0) return fail(`${address} is not below ${base.href}`)
  for (const name of names) {
    const file = join(folder, name)
    if (yield* Effect.orElseSucceed(files.exists(file), () => false)) return Result.succeed({ file, url: url.href })
  }
  return fail(`${address} has no file in ${folder}`)
})

interface SitemapOptions {
  readonly sitemap: string
  readonly folder: string
  /** Defaults to the root of the first URL. */
  readonly base: URL | undefined
}

export const openSitemap = (options: SitemapOptions): Effect.Effect<DocumentSource> =>
  source(
    Effect.gen(function* () {
      const locations = yield* readLocations(options.sitemap)
      const base = options.base ?? URL.parse("/", locations[0]?.address) ?? undefined
      return yield* Effect.forEach(locations, (location) => locate(location, { ...options, base }), {
        concurrency: readAhead
      })
    })
  )
