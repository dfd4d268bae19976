import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { lookupsOf } from "../../../src/domain/relevance/candidates.ts"
import { type DocumentTexts, documentTerms, samples } from "../../../src/domain/relevance/DocumentTerms.ts"
import { OccurrenceCounter } from "../../../src/domain/relevance/occurrences.ts"
import { readQuery } from "../../../src/domain/relevance/QueryTerms.ts"
import { rankCandidates } from "../../../src/domain/relevance/score.ts"
import { snippetOf, tokenWorth } from "../../../src/domain/relevance/snippet.ts"
import { spreadHosts } from "../../../src/domain/relevance/spread.ts"
import { termsOf, wordsOf } from "../../../src/domain/relevance/terms.ts"
import { type WordFigures, wordFigures } from "../../../src/domain/relevance/WordFigures.ts"
import { mistakesBetween, widen } from "../../../src/domain/relevance/widen.ts"

const anyText = fc.string({
  maxLength: 400,
  unit: fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    fc.constantFrom(..."aAbB19.:_-/'\"+#%^=\\&|!()*<> \n\0", "日本", "\ud800", "or", " -")
  )
})

const terms = (text: string) => termsOf(wordsOf(text, 1_000))

const document = (fields: Partial<DocumentTexts>): DocumentTexts => ({
  url: "https://site.example/page",
  title: "",
  description: "",
  content: "",
  ...fields
})

const figures = wordFigures(
  10_000,
  ["the", "javascript", "promis", "promise", "listen", "typographi"],
  [0.9, 0.4, 0.01, 0.01, 0.01, 0.01]
)

describe("terms", () => {
  it("meet across plural, case, hyphen, camelCase, dots and accents", () => {
    for (const [one, other] of [
      ["promises", "Promise"],
      ["naïve café", "NAIVE CAFE"],
      ["grid-template", "gridTemplate"],
      ["Promise.any", "promise-any"],
      ["use_chat", "useChat"],
      ["the browser's cache", "the browser cache"],
      ["don't", "dont"]
    ] as const) {
      assert.deepStrictEqual(terms(one), terms(other), one)
    }
  })

  it("of a name are its parts, and the name written together", () => {
    assert.deepStrictEqual(terms("XMLHttpRequest"), ["xml", "http", "request", "xmlhttprequest"])
    assert.deepStrictEqual(terms("GPL-3.0"), ["gpl", "3.0", "gpl3.0"])
    assert.deepStrictEqual(terms("JavaScript"), ["javascript"])
    assert.deepStrictEqual(terms("C++ C# c"), ["c++", "c#", "c"])
    assert.deepStrictEqual(terms("日本語"), ["日本", "本語"])
  })

  it("of any text have no sign that means something in a tsvector or a tsquery", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const term of terms(text)) assert.match(term, /^[\p{L}\p{N}\p{M}.+#]{1,40}$/u)
      })
    )
  })
})

describe("the terms of a document", () => {
  it("are lines of terms for title, address, description and content, behind a line of names", () => {
    const lines = documentTerms(
      document({
        url: "https://www.docs.example/api/fetch.html?x=1#y",
        title: "Window: fetch() method - Web APIs | MDN",
        description: "Starts a request.",
        content: "Far below."
      })
    ).split("\n")
    assert.lengthOf(lines, 5)
    const [names = "", ...fields] = lines
    assert.include(names, " ^fetch ")
    assert.include(names, " /fetch ")
    assert.include(names, " =fetch ")
    assert.include(names, " windowfetch ")
    assert.match(names, / %\d{1,3} /)
    assert.deepStrictEqual(fields, [
      " window fetch method ",
      " doc api fetch html fetchhtml web api mdn ",
      " start a request ",
      " far below "
    ])
  })

  it("mark the terms of a short title, without the names of section and site", () => {
    const marks = (title: string) =>
      documentTerms(document({ url: "https://site.example/a", title }))
        .match(/~\S+/g)
        ?.join(" ") ?? ""
    assert.strictEqual(marks("CSS grid layout - CSS | MDN"), "~css ~grid ~layout")
    assert.strictEqual(marks("One two three four five"), "")
  })

  it("have the names of section and site with the address, and the abbreviation of a name as a name", () => {
    const titled = (title: string) => documentTerms(document({ url: "https://site.example/a", title })).split("\n")
    const [names, title, address] = titled("Cross-Origin Resource Sharing (CORS) - HTTP | MDN")
    assert.include(names, " ^cor ")
    assert.strictEqual(title, ` ${terms("cross-origin resource sharing cors").join(" ")} `)
    assert.strictEqual(address, " site a http mdn ")
    assert.strictEqual(titled("git-rebase - Reapply commits on top of another | Git")[2], " site a git ")
    assert.strictEqual(titled("x - npm")[1], " x ")
  })

  it("are the same for the same document, with a sample in range", () => {
    fc.assert(
      fc.property(anyText, anyText, (url, title) => {
        const made = documentTerms(document({ url, title }))
        assert.strictEqual(documentTerms(document({ url, title })), made)
        const sample = Number(/ %(\d+) /.exec(made)?.[1])
        assert.isTrue(sample >= 0 && sample < samples)
        assert.notMatch(made, /['\\:&|!()<>*]/)
      })
    )
  })
})

describe("queries", () => {
  it("read phrases, exclusions and alternatives", () => {
    const query = readQuery('"virtual machines" typography or fonts -weight -"a b" -useChat')
    assert.deepStrictEqual(query.phrases, [" virtual machin "])
    assert.deepStrictEqual(query.excluded, ["weight", "usechat"])
    assert.deepStrictEqual(query.excludedPhrases, [" a b "])
    assert.deepStrictEqual(
      query.slots.map(({ alternatives }) => alternatives.map(({ term }) => term)),
      [["virtual"], ["machin"], ["typographi", "font"]]
    )
  })

  it("do not require words such as how and to, unless there are no others", () => {
    const required = (text: string) =>
      readQuery(text).slots.flatMap((slot) => (slot.required ? slot.alternatives.map(({ term }) => term) : []))
    assert.deepStrictEqual(required("how to center a div"), ["center", "div"])
    assert.deepStrictEqual(required(":is"), ["is"])
  })

  it("of any text make few lookups of bounded length, with no sign that a text could bring in", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const lookups = lookupsOf(readQuery(text), figures)
        assert.isAtMost(lookups.length, 12)
        for (const { query } of lookups) {
          assert.isBelow(query.length, 8_000)
          const rest = query.replaceAll(/'[^'\\:]*'/g, "x")
          assert.match(rest, /^[x &|!()]+$/)
        }
      })
    )
  })

  it("read samples of the documents where every word is common", () => {
    const common = wordFigures(1_000_000, ["websocket", "=websocket"], [0.5, 0.1])
    const [, , inTitle] = lookupsOf(readQuery("websocket"), common)
    assert.strictEqual(inTitle?.query, "('=websocket' & ('%0' | '%1' | '%2'))")
  })

  const marks = (query: string, figures: WordFigures) =>
    lookupsOf(readQuery(query), figures).map((lookup) => lookup.query.match(/[~=]\w+/g)?.sort() ?? [])

  it("look in short titles before all titles", () => {
    const common = wordFigures(1_000_000, ["websocket", "server"], [0.01, 0.01])
    const [, first, second] = marks("websocket server", common)
    assert.deepStrictEqual(first, ["~server", "~websocket"])
    assert.deepStrictEqual(second, ["=server", "=websocket"])
  })

  it("read all documents with several words of which one is rare, and of the titles alone those with all words", () => {
    const rare = wordFigures(1_000_000, ["websocket", "server"], [0.0005, 0.01])
    assert.deepStrictEqual(marks("websocket server", rare), [[], ["=server", "=websocket"], [], [], ["=websocket"], []])
    const whole = lookupsOf(readQuery("websocket server"), rare).find(
      ({ query }) => query === "('websocket' & 'server')"
    )
    assert.strictEqual(whole?.limit, 600)
  })

  it("do not look for a word that most documents have where there are two others, and leave it to the ranking", () => {
    const shares = wordFigures(1_000_000, ["page", "websocket", "server"], [0.5, 0.001, 0.01])
    const lookups = lookupsOf(readQuery("websocket server page"), shares)
    assert.isTrue(lookups.some(({ query }) => query === "('websocket' & 'server')"))
    assert.isFalse(lookups.some(({ complete }) => complete))
    assert.deepStrictEqual(
      lookups.flatMap(({ query }) => query.match(/\('\w+' & 'page'\)/g) ?? []),
      ["('websocketserv' & 'page')"]
    )
    const few = wordFigures(10_000, ["page", "websocket", "server"], [0.5, 0.001, 0.01])
    assert.isTrue(lookupsOf(readQuery("websocket server page"), few).some(({ complete }) => complete))
  })
})

describe("the places of a query's words in a document", () => {
  const sought = [
    { term: "a", unit: 0, weight: 1, prefix: false },
    { term: "ab", unit: 1, weight: 1, prefix: false },
    { term: "a", unit: 2, weight: 1, prefix: false },
    { term: "b", unit: 3, weight: 0.6, prefix: true }
  ]
  const unitsOf = (term: string) => {
    const exact = sought.filter((each) => each.term === term)
    return (exact.length > 0 ? exact : sought.filter((each) => each.prefix && term.startsWith(each.term))).map(
      ({ unit }) => unit
    )
  }
  const pairs = [
    { left: 0, right: 1 },
    { left: 3, right: 0 }
  ]
  const field = fc.array(fc.string({ unit: fc.constantFrom(..."abc"), minLength: 1, maxLength: 3 }), { maxLength: 6 })

  it("are found as by comparing each term with each, and nothing is left of the document before", () => {
    const counter = new OccurrenceCounter(sought, 4, { pairs, inTitle: 0.5, elsewhere: 0.25 })
    fc.assert(
      fc.property(field, field, field, field, (...fields) => {
        const found = counter.read([" ^a =b ", ...fields.map((terms) => ` ${terms.join(" ")} `)].join("\n"))
        const [title, , description] = fields
        const has = (terms: ReadonlyArray<string>, unit: number) => terms.some((term) => unitsOf(term).includes(unit))
        for (const { unit } of sought) {
          assert.strictEqual((found.frequency[unit] ?? 0) > 0, has(fields.flat(), unit))
          assert.strictEqual(found.inDescription[unit] === 1, has(description, unit))
        }
        assert.strictEqual(found.titleWords, title.length)
        const inTitle = new Set(title.filter((term) => unitsOf(term).length > 0).map((term) => unitsOf(term).join()))
        assert.strictEqual(found.matchedTitleWords, inTitle.size)
        for (const [index, { left, right }] of pairs.entries()) {
          const isNear = (terms: ReadonlyArray<string>) =>
            terms.some((term, at) => unitsOf(term).includes(left) && unitsOf(terms[at + 1] ?? "").includes(right))
          assert.strictEqual(found.nearness[index], isNear(title) ? 0.5 : fields.some(isNear) ? 0.25 : 0)
        }
      })
    )
  })

  it("are none in a text that was cut within its first line", () => {
    const counter = new OccurrenceCounter(sought, 4, { pairs, inTitle: 0.5, elsewhere: 0.25 })
    const { frequency, titleWords } = counter.read(" a ab b")
    assert.deepStrictEqual([...frequency, titleWords], [0, 0, 0, 0, 0])
  })
})

const candidate = (id: string, fields: Partial<DocumentTexts>, language: string | null = "en") => ({
  id,
  url: `https://d.example/${id}`,
  language,
  terms: documentTerms(document({ url: `https://d.example/${id}`, ...fields })),
  complete: false
})

const ranked = (query: string, ...candidates: ReadonlyArray<ReturnType<typeof candidate>>) =>
  rankCandidates(readQuery(query), figures, candidates, "en").map((scored) => scored.candidate.id)

describe("the ranking", () => {
  it("puts the document of this name first, then titles, then texts", () => {
    assert.deepStrictEqual(
      ranked(
        "Promise.any",
        candidate("text", { title: "Waiting", description: "With a promise, any of them." }),
        candidate("longer", { title: "Promise.any() and its relatives in old browsers" }),
        candidate("name", { title: "Promise.any() - JavaScript" })
      ),
      ["name", "longer", "text"]
    )
  })

  it("puts neighbours before words that are apart, and rare words before common ones", () => {
    assert.deepStrictEqual(
      ranked(
        "token bucket",
        candidate("apart", { title: "x", description: "A token is taken out of the largest bucket." }),
        candidate("near", { title: "x", description: "The token bucket is filled again every second." })
      ),
      ["near", "apart"]
    )
    assert.deepStrictEqual(
      ranked(
        "javascript listener",
        candidate("common", { title: "JavaScript" }),
        candidate("rare", { title: "Listener" })
      ),
      ["rare"]
    )
  })

  it("finds the other form of a word, but not for a word in quotation marks", () => {
    const page = candidate("page", { title: "JSON types in PostgreSQL" })
    assert.deepStrictEqual(ranked("postgres json", page), ["page"])
    assert.isTrue(readQuery("postgres").slots[0]?.alternatives.some(({ term }) => term === "postgresql"))
    assert.lengthOf(readQuery('"postgres"').slots[0]?.alternatives ?? [], 1)
  })

  it("puts a guide before the pages below its address, if it is nearly as good", () => {
    const guide = candidate("cors", { title: "Cross-origin requests (CORS)", description: "How a preflight works." })
    const detail = candidate("cors/failed", { title: "CORS preflight", description: "The CORS preflight failed." })
    const far = candidate("cors/failed/x", { title: "Reason: CORS preflight did not succeed", description: "" })
    assert.deepStrictEqual(ranked("cors preflight", far, guide), ["cors", "cors/failed/x"])
    assert.deepStrictEqual(ranked("cors preflight", guide, detail)[0], "cors/failed", "the query is its name")
  })

  it("puts a name of several words before one that is written together", () => {
    const together = candidate("CSSAnimation", { title: "CSSAnimation - Web APIs" })
    const apart = candidate("css/animations", { title: "CSS animations - CSS" })
    assert.deepStrictEqual(ranked("css animation", together, apart), ["css/animations", "CSSAnimation"])
    assert.strictEqual(ranked("CSSAnimation", together, apart)[0], "CSSAnimation")
  })

  it("is the same whatever the order of the candidates", () => {
    const all = ["a", "b", "c", "d", "e"].map((id, index) =>
      candidate(id, { title: index % 2 === 0 ? "Token" : "Tokens x" })
    )
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: 5 }), (shuffled) => {
        assert.deepStrictEqual(ranked("token", ...shuffled), ["a", "c", "e", "b", "d"])
      })
    )
  })
})

describe("words that no document has", () => {
  it("are looked for as they may have been meant, the last one as a beginning too", () => {
    const isHeld = (term: string) => figures.isListed(term)
    const alternatives = (text: string) =>
      widen(readQuery(text), figures, isHeld)?.slots.map((slot) => slot.alternatives.map(({ term }) => term))
    assert.deepStrictEqual(alternatives("javascipt"), [["javascipt", "javascript", "javascipt"]])
    assert.deepStrictEqual(alternatives("typogr"), [["typogr", "typographi"]])
    assert.deepStrictEqual(alternatives("typogr javascript"), undefined)
    assert.deepStrictEqual(alternatives("javascript"), undefined)
  })

  it("mistakes are counted as insertions, removals, replacements and swaps", () => {
    assert.strictEqual(mistakesBetween("recieve", "receive", 2), 1)
    assert.strictEqual(mistakesBetween("abc", "abc", 1), 0)
    assert.strictEqual(mistakesBetween("kitten", "sitting", 5), 3)
    const word = fc.string({ unit: fc.constantFrom(..."abc"), maxLength: 8 })
    fc.assert(
      fc.property(word, word, fc.nat(3), (a, b, limit) => {
        const between = mistakesBetween(a, b, limit)
        assert.strictEqual(mistakesBetween(b, a, limit), between)
        assert.strictEqual(between, Math.min(mistakesBetween(a, b, 99), limit + 1))
      })
    )
  })
})

describe("snippets", () => {
  const worth = (wanted: string) => tokenWorth((term) => (term === wanted ? 1 : 0))

  it("are the piece with the wanted words, of whole words", () => {
    const text = `${"before ".repeat(60)}needle${" after".repeat(60)}`
    const snippet = snippetOf(text, worth("needl"))
    assert.include(snippet, "needle")
    assert.match(snippet, /^…(before |needle |after )*(before|needle|after)…$/)
    assert.isAtMost(snippet.length, 202)
  })

  it("are pieces of any text, and short texts as they are", () => {
    fc.assert(
      fc.property(fc.array(anyText), (texts) => {
        const text = texts.join(" ")
        const snippet = snippetOf(text, worth("a"))
        if (text.length <= 200) assert.strictEqual(snippet, text)
        assert.isAtMost(snippet.length, 202)
        assert.include(text, snippet.replace(/^…/, "").replace(/…$/, ""))
      })
    )
  })
})

describe("sites", () => {
  const urls = (hosts: string) => Array.from(hosts, (host, index) => `https://${host}.example/${index}`)
  const hosts = (hosts: string) =>
    spreadHosts(urls(hosts), (url) => url)
      .map((url) => url.slice(8, 9))
      .join("")

  it("have at most three of the first ten results while others answer, and fill the rest otherwise", () => {
    assert.strictEqual(hosts("aaaaaaaaaaaabcd"), "aaabcdaaaaaaaaa")
    assert.strictEqual(hosts("aaaa"), "aaaa")
    assert.strictEqual(hosts("aaaaabbbbbcccccdddddeeeee"), "aaabbbcccdaabbccddddeeeee")
  })

  it("lose no result and get none twice", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(..."aAbcd"), { maxLength: 40 }), (letters) => {
        const before = urls(letters.join(""))
        assert.sameMembers([...spreadHosts(before, (url) => url)], before)
      })
    )
  })
})
