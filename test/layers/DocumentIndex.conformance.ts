import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer, Stream } from "effect"
import type { Target } from "../../src/domain/Target.ts"
import { type Document, DocumentIndex } from "../../src/services/DocumentIndex.ts"
import { searchRequest } from "../support/requests.ts"

type Fields = Partial<Document> & { readonly url: string }

const page = (fields: Fields): Document => ({ title: fields.url, description: "", ...fields })

const load = (documents: ReadonlyArray<Fields>, target?: Target, replace = false) =>
  Effect.flatMap(DocumentIndex, (index) => index.load(Stream.fromIterable(documents.map(page)), { target, replace }))

/** Only these documents. */
const only = (documents: ReadonlyArray<Fields>) =>
  Effect.andThen(
    Effect.flatMap(DocumentIndex, ({ clear }) => clear),
    load(documents)
  )

/** The last part of each address found. */
const find = (query: string, fields?: Parameters<typeof searchRequest>[0]) =>
  Effect.flatMap(DocumentIndex, (index) =>
    Effect.map(index.search(searchRequest({ query, ...fields })), (rows) => rows.map(({ url }) => url.slice(10)))
  )

const corpus: ReadonlyArray<Fields> = [
  {
    url: "https://d/flat",
    title: "Array.prototype.flat() - JavaScript",
    description: "The flat() method creates a new array with all sub-array elements concatenated into it."
  },
  {
    url: "https://d/flatmap",
    title: "Array.prototype.flatMap() - JavaScript",
    description: "A map() followed by a flat() of depth 1, slightly more efficient than calling the two methods."
  },
  { url: "https://d/map", title: "Map", description: "The Map object holds key-value pairs in insertion order." },
  { url: "https://d/arraymap", title: "Array.prototype.map()", description: "Calls a function on every element." },
  { url: "https://d/has", title: ":has()", description: "A pseudo-class for an element that has certain relatives." },
  { url: "https://d/is", title: ":is()", description: "A pseudo-class that takes a selector list." },
  { url: "https://d/cpp", title: "C++ language", description: "A compiled language." },
  { url: "https://d/csharp", title: "C# language", description: "A language that runs on a virtual machine." },
  { url: "https://d/c", title: "C language", description: "A small language." },
  { url: "https://d/font-size", title: "font-size", description: "The size of the letters." },
  { url: "https://d/fonts", title: "Typography", description: "Every font has a size and a weight." }
]

/** What every layer of the built-in index promises. */
export const documentIndexConformance = (name: string, layer: Layer.Layer<DocumentIndex>): void => {
  withLayer(layer)(`DocumentIndex: ${name}`, (it) => {
    it.effect("finds documents by their words in any form, titles first", () =>
      Effect.gen(function* () {
        yield* only([
          { url: "https://d/body", title: "Waiting", description: "About promises and about a promise." },
          { url: "https://d/title", title: "The Promise object", description: "A value to come." },
          { url: "https://d/none", title: "Maps", description: "Something else." }
        ])
        assert.deepStrictEqual(yield* find("promises"), ["title", "body"])
      })
    )

    it.effect("answers url, title and description as loaded", () =>
      Effect.gen(function* () {
        const document = { url: "https://d/a?b=c#d", title: 'C++ <T> & "quotes"', description: "naïve — 日本語 🙂" }
        yield* only([document])
        const index = yield* DocumentIndex
        const rows = yield* index.search(searchRequest({ query: "quotes" }))
        assert.deepStrictEqual(rows, [{ url: document.url, title: document.title, snippet: document.description }])
      })
    )

    it.effect("finds names by their parts and by their signs", () =>
      Effect.gen(function* () {
        yield* only(corpus)
        const first = (query: string) => Effect.map(find(query), ([url]) => url)
        for (const [query, url] of [
          ["Array.prototype.flat", "flat"],
          ["Array.prototype.flat()", "flat"],
          ["array flat", "flat"],
          ["flatmap", "flatmap"],
          ["map", "map"],
          [":has()", "has"],
          [":is", "is"],
          ["c++", "cpp"],
          ["C#", "csharp"],
          ["c language", "c"],
          ["font-size", "font-size"],
          ["javascript flat array method", "flat"]
        ] as const) {
          assert.strictEqual(yield* first(query), url, query)
        }
      })
    )

    it.effect("reads quoted phrases, -word and or", () =>
      Effect.gen(function* () {
        yield* only(corpus)
        assert.deepStrictEqual(yield* find('"virtual machine"'), ["csharp"])
        assert.deepStrictEqual(yield* find("language -compiled -machine"), ["c"])
        assert.sameMembers(yield* find("typography or relatives"), ["fonts", "has"])
      })
    )

    it.effect("falls back to any of the words, and to words that begin with one, but keeps exclusions", () =>
      Effect.gen(function* () {
        yield* only(corpus)
        assert.deepStrictEqual(yield* find("typography nosuchword"), ["fonts"])
        assert.deepStrictEqual(yield* find("typogr"), ["fonts"])
        assert.deepStrictEqual(yield* find("typogr nosuchword -weight"), [])
        assert.deepStrictEqual(yield* find('typogr nosuchword -"a weight"'), [])
        assert.deepStrictEqual(yield* find("nosuchword"), [])
      })
    )

    it.effect("looks for words that begin with the last word only, and only from three letters on", () =>
      Effect.gen(function* () {
        yield* only(corpus)
        assert.deepStrictEqual(yield* find("nosuchword typogr"), ["fonts"])
        assert.deepStrictEqual(yield* find("typogr nosuchword"), [])
        assert.deepStrictEqual(yield* find("nosuchword ty"), [])
      })
    )

    it.effect("finds titles as long as they are, and one word among many that no document has", () =>
      Effect.gen(function* () {
        const title = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
        yield* only([...corpus, { url: "https://d/more", title: `${title} fifteen` }, { url: "https://d/same", title }])
        assert.deepStrictEqual(yield* find(title), ["same", "more"])
        assert.deepStrictEqual(yield* find(`${"nosuchword ".repeat(12)}typography`), ["fonts"])
      })
    )

    it.effect("meets plural, case, hyphen, camelCase and dots, and finds what is spelt a little wrong", () =>
      Effect.gen(function* () {
        yield* only(corpus)
        for (const query of ["FontSize", "font sizes", "font-Size", "fontsize", "font_size"]) {
          assert.strictEqual((yield* find(query))[0], "font-size", query)
        }
        assert.deepStrictEqual(yield* find("tyopgraphy"), ["fonts"])
        assert.deepStrictEqual(yield* find("typograpy"), ["fonts"])
        assert.strictEqual((yield* find("javasript flatmap"))[0], "flatmap")
      })
    )

    it.effect("has all words first, then most, and nothing of which only a little fits", () =>
      Effect.gen(function* () {
        yield* only([
          { url: "https://d/some", title: "Rivers", description: "A page about rivers." },
          { url: "https://d/most", title: "Rivers and lakes", description: "A page about both." },
          { url: "https://d/all", title: "Waters", description: "Rivers, lakes and oceans." }
        ])
        assert.deepStrictEqual(yield* find("rivers lakes oceans"), ["all", "most"])
      })
    )

    it.effect("finds content with less weight, and takes the snippet from where the words are", () =>
      Effect.gen(function* () {
        const far = `${"filler ".repeat(400)}the needle is here ${"filler ".repeat(400)}`
        yield* only([
          { url: "https://d/content", title: "One", description: "About something else.", content: far },
          { url: "https://d/title", title: "Needle", description: "Short." }
        ])
        const index = yield* DocumentIndex
        const [first, second] = yield* index.search(searchRequest({ query: "needle" }))
        assert.strictEqual(first?.snippet, "Short.")
        assert.match(second?.snippet ?? "", /^…(filler )+the needle is here (filler ?)+…$/)
        assert.isAtMost(second?.snippet.length ?? 0, 202)
        assert.deepStrictEqual(yield* find('"needle is here"'), ["content"])
      })
    )

    it.effect("has at most three results of a site among the first ten while others answer", () =>
      Effect.gen(function* () {
        const many = Array.from({ length: 12 }, (_, index) => ({ url: `https://d/${index}`, title: "Word" }))
        yield* only([
          ...many,
          { url: "https://e/1", title: "A word more" },
          { url: "https://f/1", title: "A word more" }
        ])
        const index = yield* DocumentIndex
        const rows = yield* index.search(searchRequest({ query: "word", num: 20 }))
        assert.strictEqual(rows.map(({ url }) => url.slice(8, 9)).join(""), "dddefddddddddd")
      })
    )

    it.effect("takes any text for a query", () =>
      Effect.gen(function* () {
        yield* only(corpus)
        for (const query of [
          "-flat",
          "-flat -map",
          '-"flat map"',
          "flat or -map",
          "the",
          "the -of",
          "or",
          '"',
          '""',
          '-"',
          "-",
          "- -",
          "--",
          "'",
          "''",
          "\\",
          "a\\'b' | & ! ( ) <-> :* zz",
          "!!!",
          "%",
          "$1",
          "🙂",
          "日本語",
          "zz:* | yy",
          `"${"a".repeat(398)}"`,
          "x ".repeat(200).trim(),
          "a.b.c-d--e",
          "e\u0301"
        ]) {
          assert.isArray(yield* find(query), query)
        }
        for (const query of ["-flat", "or", '"', "- -", "!!!"]) {
          assert.deepStrictEqual(yield* find(query), [], query)
        }
      })
    )

    it.effect("R13: page p of size num holds rows (p-1)*num+1 to p*num, in the same order each time", () =>
      Effect.gen(function* () {
        const names = Array.from({ length: 25 }, (_, index) => String(index + 10))
        yield* only(names.toReversed().map((n) => ({ url: `https://d/${n}`, title: "Same", description: "same" })))
        const pages = yield* Effect.forEach([1, 2, 3, 4], (page) => find("same", { page, num: 10 }))
        assert.deepStrictEqual(
          pages.map(({ length }) => length),
          [10, 10, 5, 0]
        )
        assert.deepStrictEqual(pages.flat(), names)
      })
    )

    it.effect("R13: a page beyond the matches is empty and not filled with lesser ones", () =>
      Effect.gen(function* () {
        yield* only(corpus)
        assert.deepStrictEqual(yield* find("typography size", { page: 2 }), [])
      })
    )

    it.effect("prefers the language asked for, and leaves out no other", () =>
      Effect.gen(function* () {
        yield* only([
          { url: "https://d/1-none", title: "Katze" },
          { url: "https://d/2-en", title: "Katze", language: "en" },
          { url: "https://d/3-de", title: "Katze", language: "de" }
        ])
        assert.deepStrictEqual(yield* find("katze", { locale: "de-at" }), ["3-de", "1-none", "2-en"])
        assert.deepStrictEqual(yield* find("katze", { locale: "en-us" }), ["2-en", "1-none", "3-de"])
      })
    )

    it.effect("a document of one target serves it alone, one without serves all", () =>
      Effect.gen(function* () {
        yield* only([{ url: "https://d/all", title: "Word" }])
        yield* load([{ url: "https://d/beta", title: "Word" }], "beta_search")
        assert.deepStrictEqual(yield* find("word"), ["all"])
        assert.deepStrictEqual(yield* find("word", { target: "beta_search" }), ["all", "beta"])
        assert.deepStrictEqual(yield* find("wor", { target: "alpha_search" }), ["all"])
        const index = yield* DocumentIndex
        assert.deepStrictEqual(yield* index.stats, { documents: 2, byTarget: { beta_search: 1 } })
      })
    )

    it.effect("replaces a document with the same address and target", () =>
      Effect.gen(function* () {
        yield* only([{ url: "https://d/a", title: "Before" }])
        const between = { url: "https://d/a", title: "Between" }
        const after = { url: "https://d/a", title: "After" }
        assert.deepStrictEqual(yield* load([between, after]), { written: 1, removed: 0 })
        yield* load([{ url: "https://d/a", title: "Elsewhere" }], "zeta_search")
        assert.deepStrictEqual(yield* find("before"), [])
        assert.deepStrictEqual(yield* find("after"), ["a"])
        const index = yield* DocumentIndex
        assert.strictEqual((yield* index.stats).documents, 2)
        assert.strictEqual(yield* index.clear, 2)
        assert.deepStrictEqual(yield* index.stats, { documents: 0, byTarget: {} })
      })
    )

    it.effect("keeps the last of the documents of an address, however far apart they are in a load", () =>
      Effect.gen(function* () {
        const addresses = 7
        const documents = Array.from({ length: 6_000 }, (_, number) => ({
          url: `https://d/${number % addresses}`,
          title: `Number n${number}`
        }))
        yield* only(documents)
        const index = yield* DocumentIndex
        const rows = yield* index.search(searchRequest({ query: "number" }))
        assert.sameMembers(
          rows.map(({ title }) => title),
          documents.slice(-addresses).map(({ title }) => title)
        )
      })
    )

    it.effect("loads more documents than one statement takes, and what Postgres cannot carry as it is", () =>
      Effect.gen(function* () {
        const many = Array.from({ length: 1_201 }, (_, index) => ({
          url: `https://d/${index}`,
          title: `Number n${index}`
        }))
        const odd = {
          url: `https://d/${"x".repeat(5_000)}`,
          title: "a\0b \ud800",
          description: "long ".repeat(300_000)
        }
        assert.deepStrictEqual(yield* only([...many, odd]), { written: 1_202, removed: 0 })
        assert.deepStrictEqual(yield* find("n1200"), ["1200"])
        assert.strictEqual((yield* find("long")).length, 1)
      })
    )

    it.effect("a source that fails ends the load with its error", () =>
      Effect.gen(function* () {
        const index = yield* DocumentIndex
        const source = Stream.concat(Stream.succeed(page({ url: "https://d/a" })), Stream.fail("line 2"))
        assert.strictEqual(yield* Effect.flip(index.load(source, { target: undefined, replace: false })), "line 2")
      })
    )

    it.effect("a load that replaces removes the documents of its target that the source no longer has", () =>
      Effect.gen(function* () {
        yield* only([{ url: "https://d/stays" }, { url: "https://d/goes" }])
        yield* load([{ url: "https://d/other" }], "beta_search")
        const report = yield* load([{ url: "https://d/stays" }, { url: "https://d/new" }], undefined, true)
        assert.deepStrictEqual(report, { written: 2, removed: 1 })
        const { stats } = yield* DocumentIndex
        assert.deepStrictEqual(yield* stats, { documents: 3, byTarget: { beta_search: 1 } })
        assert.deepStrictEqual(yield* find("goes"), [])
      })
    )

    it.effect("a load that replaces removes nothing when its source fails", () =>
      Effect.gen(function* () {
        yield* only([{ url: "https://d/stays" }])
        const index = yield* DocumentIndex
        const source = Stream.concat(Stream.succeed(page({ url: "https://d/new" })), Stream.fail("line 2"))
        assert.strictEqual(yield* Effect.flip(index.load(source, { target: undefined, replace: true })), "line 2")
        assert.strictEqual((yield* index.stats).documents, 2)
      })
    )
  })
}
