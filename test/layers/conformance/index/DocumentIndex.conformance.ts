import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { SearchOptions } from "../../../../src/domain/options/SearchOptions.ts"
import type { Target } from "../../../../src/domain/search/Target.ts"
import { type Document, DocumentIndex } from "../../../../src/services/index/DocumentIndex.ts"
import { searchRequest } from "../../../support/api/requests.ts"

type Fields = Omit<Partial<Document>, "language"> & { readonly url: string; readonly language?: string | undefined }

const page = ({ language, ...fields }: Fields): Document => ({
  title: fields.url,
  description: "",
  ...fields,
  ...(language === undefined ? {} : { language })
})

const load = (documents: ReadonlyArray<Fields>, target?: Target, replace = false) =>
  Effect.flatMap(DocumentIndex, (index) =>
    index.load(Stream.fromIterable(documents.map(page)), { target, replace: replace && { under: undefined } })
  )

/** Only these documents. */
const only = (documents: ReadonlyArray<Fields>) =>
  Effect.andThen(
    Effect.flatMap(DocumentIndex, ({ clear }) => clear),
    load(documents)
  )

/** The addresses found. */
const findAll = (query: string, fields?: Parameters<typeof searchRequest>[0]) =>
  Effect.flatMap(DocumentIndex, (index) =>
    Effect.map(index.search(searchRequest({ query, ...fields })), ({ rows }) => rows.map(({ url }) => url))
  )

/** The last part of each address found. */
const find = (query: string, fields?: Parameters<typeof searchRequest>[0]) =>
  Effect.map(findAll(query, fields), (urls) => urls.map((url) => url.slice(10)))

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

/** Texts of several languages, some of which do not name it. */
const sentences: ReadonlyArray<readonly [url: string, text: string, language?: string]> = [
  ["https://d/en", "The old library stands on a hill. Nobody has counted its books. To be or not to be."],
  ["https://d/de", "Die Häuser der Stadt sind alt. Niemand zählt die Straßen.", "de"],
  ["https://d/fr", "Les bibliothèques anciennes sont fermées. Où êtes-vous allés hier soir?", "fr"],
  ["https://d/es", "Las canciones populares no se olvidan. El niño canta en español.", "es"],
  ["https://d/ru", "Старые книги лежат на столе. Никто их не читает.", "ru"],
  ["https://d/ja", "東京の図書館は静かです。日本語の本がたくさんあります。", "ja"],
  ["https://d/zh", "北京的图书馆很大。我们每天在那里读书。", "zh"],
  ["https://d/th", "ห้องสมุดในกรุงเทพมีหนังสือมากมาย", "th"],
  ["https://d/fi", "Vanhat kirjat ovat pöydällä. Kukaan ei lue niitä.", "fi"]
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
        const { rows } = yield* index.search(searchRequest({ query: "quotes" }))
        assert.deepStrictEqual(rows, [{ url: document.url, title: document.title, snippet: document.description }])
      })
    )

    it.effect("counts those of some addresses that it has for all targets", () =>
      Effect.gen(function* () {
        yield* only([{ url: "https://d/1" }, { url: "https://d/2" }])
        yield* load([{ url: "https://d/3" }], "alpha_search")
        const index = yield* DocumentIndex
        assert.strictEqual(yield* index.count(["https://d/1", "https://d/2", "https://d/3", "https://d/4"]), 2)
      })
    )

    it.effect("says that it is loading with every search during a load, and no longer when it ends in any way", () =>
      Effect.gen(function* () {
        yield* only(corpus)
        const index = yield* DocumentIndex
        /** What a search with results says, one without, and the index itself. */
        const said = Effect.all([
          Effect.map(index.search(searchRequest({ query: "flat" })), ({ isLoading }) => isLoading),
          Effect.map(index.search(searchRequest({ query: "qqqqqq" })), ({ isLoading }) => isLoading),
          index.isLoading
        ])
        const during: Array<ReadonlyArray<boolean>> = []
        const look = Effect.map(said, (all) => page({ url: `https://d/looked/${during.push(all)}` }))
        const options = { target: undefined, replace: false } as const
        const [no, yes] = [
          [false, false, false],
          [true, true, true]
        ]
        assert.deepStrictEqual(yield* said, no)
        yield* index.load(Stream.fromEffect(look), options)
        assert.deepStrictEqual(yield* said, no)
        yield* Effect.flip(index.load(Stream.concat(Stream.fromEffect(look), Stream.fail("broken")), options))
        assert.deepStrictEqual(yield* said, no)
        const interrupted = Stream.fromEffect(Effect.andThen(look, Effect.interrupt))
        yield* Effect.exit(index.load(interrupted, options))
        assert.deepStrictEqual(yield* said, no)
        yield* index.whileLoading(Effect.andThen(load([{ url: "https://d/inner" }]), look))
        assert.deepStrictEqual(yield* said, no)
        assert.deepStrictEqual(during, [yes, yes, yes, yes])
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

    it.effect("finds documents with any of the words, but keeps exclusions", () =>
      Effect.gen(function* () {
        yield* only(corpus)
        assert.deepStrictEqual(yield* find("typography nosuchword"), ["fonts"])
        assert.deepStrictEqual(yield* find("typography nosuchword -weight"), [])
        assert.deepStrictEqual(yield* find('typography nosuchword -"a weight"'), [])
        assert.deepStrictEqual(yield* find("nosuchword"), [])
      })
    )

    it.effect("a phrase is in every result as it is written, but for case, accents and signs", () =>
      Effect.gen(function* () {
        yield* only([
          { url: "https://d/right", title: "One", content: "It was the best, of times." },
          { url: "https://d/apart", title: "The best times of it was", content: "of times best" },
          { url: "https://d/stem", title: "Best of time" }
        ])
        assert.deepStrictEqual(yield* find('"best of times"'), ["right"])
        assert.deepStrictEqual(yield* find('"BEST of Tímes" one'), ["right"])
        assert.sameMembers(yield* find('best -"of times"'), ["stem"])
        assert.deepStrictEqual(yield* find('"of worst times"'), [])
      })
    )

    it.effect("site: leaves the pages of one site, its hosts below it, or a part of it", () =>
      Effect.gen(function* () {
        yield* only([
          { url: "https://d.example/a/one", title: "Word" },
          { url: "https://x.d.example/two", title: "Word" },
          { url: "https://notd.example/three", title: "Word" }
        ])
        const names = (query: string) =>
          Effect.map(find(query), (urls) => urls.map((url) => url.slice(url.lastIndexOf("/") + 1)))
        assert.sameMembers(yield* names("word site:d.example"), ["one", "two"])
        assert.sameMembers(yield* names("site:x.d.example"), ["two"])
        assert.sameMembers(yield* names("word site:d.example/a"), ["one"])
        assert.sameMembers(yield* names("word -site:d.example"), ["three"])
        assert.sameMembers(yield* names("word site:x.d.example site:notd.example"), ["two", "three"])
        assert.sameMembers(yield* names("word site:other.example"), [])
      })
    )

    it.effect("-site: leaves room for others, however many pages of the site are better", () =>
      Effect.gen(function* () {
        const many = Array.from({ length: 500 }, (_, number) => ({
          url: `https://many.example/${number}`,
          title: "Word"
        }))
        yield* only([...many, { url: "https://d/other", title: "Another one", content: "It has the word once." }])
        assert.deepStrictEqual(yield* find("word -site:many.example"), ["other"])
      })
    )

    it.effect("the snippet of a phrase is the piece that has it", () =>
      Effect.gen(function* () {
        const content = `${"filler ".repeat(200)}the golden needle ${"filler ".repeat(200)}`
        yield* only([{ url: "https://d/phrase", title: "One", description: "Something else.", content }])
        const index = yield* DocumentIndex
        const { rows } = yield* index.search(searchRequest({ query: '"golden needle"' }))
        const [row] = rows
        assert.include(row?.snippet ?? "", "golden needle")
      })
    )

    it.effect("finds every document by each of its own sentences, in any language", () =>
      Effect.gen(function* () {
        yield* only(sentences.map(([url, text, language]) => ({ url, title: "Page", content: text, language })))
        for (const [url, text] of sentences) {
          for (const sentence of text.match(/[^.。!?！？]+/gu)?.filter((part) => part.trim() !== "") ?? []) {
            for (const locale of ["en-us", "de-de", "ja-jp"] as const) {
              const [first] = yield* find(sentence.trim(), { locale })
              assert.strictEqual(first, url.slice(10), `${locale}: ${sentence}`)
            }
          }
        }
      })
    )

    it.effect("finds a document in its language by another form of a word, and without its accents", () =>
      Effect.gen(function* () {
        yield* only(sentences.map(([url, text, language]) => ({ url, title: "Page", content: text, language })))
        for (const [locale, query, url] of [
          ["de-de", "Stadt Häusern", "de"],
          ["fr-fr", "bibliothèque ancienne", "fr"],
          ["es-es", "cancion popular", "es"],
          ["ru-ru", "старую книгу", "ru"],
          ["ja-jp", "図書館", "ja"],
          ["zh-cn", "图书馆", "zh"],
          ["th-th", "ห้องสมุด", "th"],
          ["en-us", "bibliotheques", "fr"]
        ] as const) {
          assert.strictEqual((yield* find(query, { locale }))[0], url, query)
        }
      })
    )

    it.effect("finds each document once after it has changed many times", () =>
      Effect.gen(function* () {
        yield* only(corpus)
        for (let version = 1; version <= 12; version++) {
          yield* load([
            { url: "https://d/changing", title: `Version number${version}` },
            { url: "https://d/fonts", title: "Typography", description: `Edition${version}` }
          ])
        }
        assert.deepStrictEqual(yield* find("number12 edition12"), ["changing", "fonts"])
        assert.deepStrictEqual(yield* find("typography"), ["fonts"])
        assert.strictEqual((yield* find("flatmap"))[0], "flatmap")
      })
    )

    it.effect("finds titles as long as they are, and one word among many that no document has", () =>
      Effect.gen(function* () {
        const title = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
        yield* only([...corpus, { url: "https://d/more", title: `${title} fifteen` }, { url: "https://d/same", title }])
        assert.deepStrictEqual((yield* find(title)).slice(0, 2), ["same", "more"])
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

    it.effect("has all words first, then most, then any", () =>
      Effect.gen(function* () {
        yield* only([
          { url: "https://d/some", title: "Rivers", description: "A page about rivers." },
          { url: "https://d/most", title: "Rivers and lakes", description: "A page about both." },
          { url: "https://d/all", title: "Waters", description: "Rivers, lakes and oceans." }
        ])
        assert.deepStrictEqual(yield* find("rivers lakes oceans"), ["all", "most", "some"])
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
        const { rows } = yield* index.search(searchRequest({ query: "needle" }))
        const [first, second] = rows
        assert.strictEqual(first?.snippet, "Short.")
        assert.match(second?.snippet ?? "", /^…(filler )+the needle is here (filler ?)+…$/)
        assert.isAtMost(second?.snippet.length ?? 0, 202)
        assert.deepStrictEqual(yield* find('"needle is here"'), ["content"])
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
          "e\u0301",
          "site:",
          "site:% word",
          "-site:a site:b"
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
        const index = yield* DocumentIndex
        assert.deepStrictEqual(yield* index.stats, { documents: 2, byTarget: { beta_search: 1 } })
      })
    )

    it.effect("counts its documents by target and language", () =>
      Effect.gen(function* () {
        yield* only([
          { url: "https://d/1", title: "Katze", language: "de" },
          { url: "https://d/2", title: "Cat", language: "en" },
          { url: "https://d/3", title: "Dog", language: "en" }
        ])
        yield* load([{ url: "https://d/4", title: "Bird" }], "beta_search")
        assert.deepStrictEqual(yield* Effect.flatMap(DocumentIndex, ({ counts }) => counts), [
          { target: undefined, language: "en", documents: 2 },
          { target: undefined, language: "de", documents: 1 },
          { target: "beta_search", language: undefined, documents: 1 }
        ])
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
        const { rows } = yield* index.search(searchRequest({ query: "number" }))
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

    it.effect("a load that replaces leaves the documents of other sites alone", () =>
      Effect.gen(function* () {
        const other = { url: "https://other/page", title: "Other" }
        const neighbour = { url: "https://d.example/page", title: "Neighbour" }
        yield* only([{ url: "https://d/stays" }, { url: "https://d/goes" }, other, neighbour])
        assert.deepStrictEqual(yield* load([{ url: "https://d/stays" }], undefined, true), { written: 1, removed: 1 })
        assert.deepStrictEqual(yield* findAll("other"), ["https://other/page"])
        assert.deepStrictEqual(yield* findAll("neighbour"), ["https://d.example/page"])
      })
    )

    it.effect(
      "a load that replaces below an address removes nothing beside it, and of other sites nothing at all",
      () =>
        Effect.gen(function* () {
          const kept = ["https://d/docs2/a", "https://d/blog/a", "https://d.evil/docs/a", "https://other/docs/a"]
          const gone = ["https://d/docs", "https://d/docs/", "https://d/docs/old/page"]
          yield* only([...kept, ...gone].map((url) => ({ url, title: "Word" })))
          const index = yield* DocumentIndex
          // A page may name an address of its own elsewhere: it is loaded there, and nothing beside it is removed.
          const documents = Stream.make(page({ url: "https://d/docs/new" }), page({ url: "https://other/canonical" }))
          const options = { target: undefined, replace: { under: "https://d/docs/" } }
          assert.deepStrictEqual(yield* index.compare(documents, options), { documents: 7, removed: 3 })
          assert.deepStrictEqual(yield* index.load(documents, options), { written: 2, removed: 3 })
          assert.sameMembers([...(yield* findAll("word"))], kept)
        })
    )

    it.effect("a comparison says what a load would remove, and changes nothing", () =>
      Effect.gen(function* () {
        yield* only([{ url: "https://d/stays" }, { url: "https://d/goes", title: "Goes" }, { url: "https://other/a" }])
        yield* load([{ url: "https://d/other" }], "beta_search")
        const index = yield* DocumentIndex
        const documents = Stream.make(page({ url: "https://d/stays" }), page({ url: "https://d/new", title: "New" }))
        const options = { target: undefined, replace: { under: undefined } }
        assert.deepStrictEqual(yield* index.compare(documents, options), { documents: 4, removed: 1 })
        assert.deepStrictEqual([...(yield* find("goes")), ...(yield* find("new"))], ["goes"])
        assert.deepStrictEqual(yield* index.load(documents, options), { written: 2, removed: 1 })
      })
    )

    it.effect("a load that replaces removes nothing when its source fails", () =>
      Effect.gen(function* () {
        yield* only([{ url: "https://d/stays" }])
        const index = yield* DocumentIndex
        const source = Stream.concat(Stream.succeed(page({ url: "https://d/new" })), Stream.fail("line 2"))
        assert.strictEqual(
          yield* Effect.flip(index.load(source, { target: undefined, replace: { under: undefined } })),
          "line 2"
        )
        assert.strictEqual((yield* index.stats).documents, 2)
      })
    )

    const dated = (name: string, published?: string, host = "a.example.org"): Fields => ({
      url: `https://${host}/${name}`,
      title: `Release ${name}`,
      ...(published === undefined ? {} : { published })
    })

    const findWith = (options: SearchOptions, query = "release") =>
      Effect.map(findAll(query, { num: 50, options }), (urls) =>
        urls.map((url) => new URL(url).pathname.slice(1)).sort()
      )

    it.effect("R62: applies every date exactly, and never returns an undated document with one", () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(Date.parse("2026-11-24T12:00:00Z"))
        yield* only([
          dated("undated"),
          dated("hour", "2026-11-24T11:00:00Z"),
          dated("zone", "2026-11-24T01:00:00+02:00"),
          dated("dayago", "2026-11-23T11:59:59Z"),
          dated("week", "2026-11-18"),
          dated("month", "2026-10-24T12:00:00Z"),
          dated("older", "2026-10-23"),
          dated("year", "2025-12-31"),
          dated("old", "2019-05-05"),
          { url: "https://a.example.org/other", title: "Other", published: "2026-11-24" }
        ])
        assert.deepStrictEqual(yield* findWith({ freshness: "day" }), ["hour", "zone"])
        assert.deepStrictEqual(yield* findWith({ freshness: "week" }), ["dayago", "hour", "week", "zone"])
        assert.deepStrictEqual(yield* findWith({ freshness: "month" }), ["dayago", "hour", "month", "week", "zone"])
        assert.deepStrictEqual(yield* findWith({ topic: "news" }), ["dayago", "hour", "month", "week", "zone"])
        assert.deepStrictEqual(yield* findWith({ before: "2025-12-31" }), ["old", "year"])
        assert.deepStrictEqual(yield* findWith({ after: "2026-10-23", before: "2026-11-18" }), [
          "month",
          "older",
          "week"
        ])
        assert.deepStrictEqual(yield* findWith({ after: "2026-11-18", topic: "news" }), [
          "dayago",
          "hour",
          "week",
          "zone"
        ])
        assert.deepStrictEqual(yield* findWith({ after: "2030-01-01" }), [])
        assert.include(yield* findWith({}), "undated")
      })
    )

    it.effect("R62: a result has its document's date, in UTC", () =>
      Effect.gen(function* () {
        yield* only([dated("a", "2026-01-01T01:00:00+02:00"), dated("b", "2026-01-02"), dated("c")])
        const { rows } = yield* (yield* DocumentIndex).search(searchRequest({ query: "release" }))
        assert.deepStrictEqual(rows.map(({ published, title }) => [title, published]).sort(), [
          ["Release a", "2025-12-31T23:00:00Z"],
          ["Release b", "2026-01-02"],
          ["Release c", undefined]
        ])
      })
    )

    it.effect("R62: only included sites and paths, and no excluded ones", () =>
      Effect.gen(function* () {
        yield* only([
          dated("1", undefined, "example.org"),
          dated("guide/2", undefined, "docs.example.org"),
          dated("guidelines/3", undefined, "docs.example.org"),
          dated("4", undefined, "other.test")
        ])
        assert.deepStrictEqual(yield* findWith({ includeDomains: ["example.org"] }), ["1", "guide/2", "guidelines/3"])
        assert.deepStrictEqual(yield* findWith({ includeDomains: ["docs.example.org/guide", "other.test"] }), [
          "4",
          "guide/2"
        ])
        assert.deepStrictEqual(yield* findWith({ excludeDomains: ["docs.example.org", "other.test"] }), ["1"])
        assert.deepStrictEqual(
          yield* findWith({ includeDomains: ["example.org"], excludeDomains: ["docs.example.org/guide"] }),
          ["1", "guidelines/3"]
        )
        assert.deepStrictEqual(yield* findWith({ includeDomains: ["other.test"] }, "release site:example.org"), [])
      })
    )

    it.effect("a document that only changes its date is found by the new one", () =>
      Effect.gen(function* () {
        yield* only([dated("a", "2020-01-01")])
        yield* load([dated("a", "2021-01-01")])
        assert.deepStrictEqual(yield* findWith({ before: "2020-12-31" }), [])
        assert.deepStrictEqual(yield* findWith({ after: "2021-01-01" }), ["a"])
      })
    )
  })
}
