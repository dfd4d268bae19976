import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type DocumentTexts, documentTerms, partsAndCompounds } from "../../../src/domain/index/DocumentTerms.ts"
import { guessLanguage, stemOf } from "../../../src/domain/index/languages.ts"
import { lengthOf, makeEntries, PostingsReader, PostingsWriter } from "../../../src/domain/index/postings.ts"
import { readQuery } from "../../../src/domain/index/QueryTerms.ts"
import { bestDocuments, rarity, type ScoredSlot } from "../../../src/domain/index/score.ts"
import { snippetOf, tokenWorth } from "../../../src/domain/index/snippet.ts"
import { meantBy } from "../../../src/domain/index/spelling.ts"
import { titleScore } from "../../../src/domain/index/titles.ts"
import { fold, phraseText, wordsOf } from "../../../src/domain/index/words.ts"
import { mistakesBetween } from "../../../src/domain/spelling.ts"

const anyText = fc.string({
  maxLength: 400,
  unit: fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    fc.constantFrom(..."aAbB19.:_-/'\"+#%^=\\&|!()*<> \n\0", "日本", "\ud800", "or", " -", " site:")
  )
})

const parts = (text: string) => partsAndCompounds(wordsOf(text, 1_000))
const stems = (text: string, language = "en") => parts(text).map((part) => stemOf(part, language))

const document = (fields: Partial<DocumentTexts>): DocumentTexts => ({
  url: "https://site.example/page",
  title: "",
  headings: "",
  description: "",
  content: "",
  language: null,
  ...fields
})

describe("words", () => {
  it("meet across plural, case, hyphen, camelCase, dots and accents", () => {
    for (const [one, other] of [
      ["promises", "Promise"],
      ["naïve café", "NAIVE CAFE"],
      ["grid-template", "gridTemplate"],
      ["Promise.any", "promise-any"],
      ["use_chat", "useChat"],
      ["the browser's cache", "the browser cache"],
      ["don't", "dont"],
      ["ＡＢＣ", "abc"]
    ] as const) {
      assert.deepStrictEqual(stems(one), stems(other), one)
    }
  })

  it("of a name are its parts, and the name written together", () => {
    assert.deepStrictEqual(parts("XMLHttpRequest"), ["xml", "http", "request", "xmlhttprequest"])
    assert.deepStrictEqual(parts("GPL-3.0"), ["gpl", "3.0", "gpl3.0"])
    assert.deepStrictEqual(parts("JavaScript"), ["javascript"])
    assert.deepStrictEqual(parts("C++ C# c"), ["c++", "c#", "c"])
  })

  it("of a text without spaces are its characters and their pairs, apart from words between them", () => {
    assert.deepStrictEqual(parts("日本語Web入門"), ["日", "日本", "本", "本語", "語", "web", "入", "入門", "門"])
  })

  it("of any text are short, and have no sign that marks a term of another kind", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const part of parts(text)) assert.match(part, /^[\p{L}\p{N}\p{M}.+#]{1,80}$/u)
      })
    )
  })

  it("have a stem in each language, without accents", () => {
    for (const [language, one, other] of [
      ["en", "searching", "searched"],
      ["de", "Häuser", "Hauses"],
      ["fr", "recherches", "recherche"],
      ["es", "canciones", "canción"],
      ["it", "biblioteche", "biblioteca"],
      ["pt", "notícias", "notícia"],
      ["nl", "boeken", "boek"],
      ["sv", "flickorna", "flickor"],
      ["da", "husene", "huset"],
      ["no", "bilene", "bilen"],
      ["fi", "kirjoja", "kirja"],
      ["ru", "книги", "книгу"]
    ] as const) {
      assert.deepStrictEqual(stems(one, language), stems(other, language), language)
      assert.strictEqual(stems(one, language)[0], fold(stems(one, language)[0] ?? ""), language)
    }
  })

  it("say in which language a text is", () => {
    const guess = (text: string) => guessLanguage(parts(text).map(fold))
    assert.strictEqual(guess("Das ist ein Haus, und es ist nicht weit von der Stadt."), "de")
    assert.strictEqual(guess("La maison est dans la ville et elle est à nous."), "fr")
    assert.strictEqual(guess("The house is in the city."), "en")
    assert.strictEqual(guess("Fortran"), "en")
  })

  it("in a row are found as a phrase, with any separator", () => {
    const has = (text: string, phrase: string) => phraseText(text).includes(phraseText(phrase))
    assert.isTrue(has("The «Needle»\nis here.", "needle is"))
    assert.isTrue(has("これは日本語です", "日本語"))
    assert.isFalse(has("needles are here", "needle"))
  })
})

describe("the terms of a document", () => {
  it("count by the weight of their field, with the word itself beside its stem", () => {
    const { frequencies, length } = documentTerms(
      document({ title: "Fonts", headings: "fonts", description: "About fonts", content: "A font.", language: "en" })
    )
    assert.strictEqual(frequencies.get("font"), 4 + 2 + 1 + 1)
    assert.strictEqual(frequencies.get("=fonts"), 4 + 2 + 1)
    assert.strictEqual(length, 4 + 2 + 2 + 2 + 2)
  })

  it("are found by site, also by the domains above it", () => {
    const { frequencies } = documentTerms(document({ url: "https://docs.site.example:8080/a" }))
    for (const term of ["@docs.site.example", "@site.example", "@example"]) assert.isTrue(frequencies.has(term), term)
  })

  it("count a description once that is the beginning of the content", () => {
    const { frequencies } = documentTerms(document({ description: "One needle…", content: "One needle in a stack" }))
    assert.strictEqual(frequencies.get("needl"), 1)
  })
})

describe("postings", () => {
  const documents = fc
    .uniqueArray(fc.nat(2 ** 40), { minLength: 1, maxLength: 50 })
    .map((numbers) => numbers.sort((a, b) => a - b))
  const read = (bytes: Uint8Array) => {
    const reader = new PostingsReader(bytes)
    const entries = makeEntries(64)
    const found: Array<number> = []
    while (reader.document !== Number.POSITIVE_INFINITY) {
      const start = reader.document
      for (const at of entries.documents.subarray(0, reader.read(start, entries))) found.push(start + at)
    }
    return found
  }
  const write = (numbers: ReadonlyArray<number>) => {
    const writer = new PostingsWriter()
    for (const number of numbers) writer.add(number, new Map([["a", (number % 300) + 1]]), number % 9_000)
    return [...writer.terms()][0]?.postings ?? new Uint8Array()
  }

  it("are read as they were written, also when lists are joined, and as far as they reach when they are cut", () => {
    fc.assert(
      fc.property(documents, fc.nat(), (numbers, cut) => {
        const half = Math.ceil(numbers.length / 2)
        const joined = Buffer.concat([write(numbers.slice(0, half)), write(numbers.slice(half))])
        assert.deepStrictEqual(read(write(numbers)), numbers)
        if (half < numbers.length) assert.deepStrictEqual(read(joined), numbers)
        const few = read(joined.subarray(0, cut % joined.length))
        assert.deepStrictEqual(few, numbers.slice(0, few.length))
      })
    )
  })

  it("keep lengths to within 4 %", () => {
    const entries = makeEntries(10_000)
    assert.strictEqual(new PostingsReader(write([1_000, 8_000])).read(0, entries), 2)
    for (const [index, length] of [1_000, 8_000].entries()) {
      assert.closeTo(lengthOf(entries.lengths[index] ?? 0), length, length * 0.04)
    }
  })

  it("of any bytes end", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void read(bytes)))
  })
})

describe("scores", () => {
  const collection = { documents: 1_000, length: 100_000 }
  const listOf = (numbers: ReadonlyArray<number>, frequency = 1) => {
    const writer = new PostingsWriter()
    for (const number of numbers) writer.add(number, new Map([["a", frequency]]), 100)
    return [...writer.terms()].map(({ postings }) => postings)
  }
  const slot = (
    numbers: ReadonlyArray<number>,
    role: ScoredSlot["role"] = "wanted",
    worth = role === "wanted" ? rarity(collection, numbers.length) : 0,
    frequency = 1
  ): ScoredSlot => ({ terms: [{ weight: 1, lists: listOf(numbers, frequency) }], worth, role })
  const found = (slots: ReadonlyArray<ScoredSlot>, limit = 10) =>
    bestDocuments(slots, collection, limit).map(({ document }) => document)

  it("are greater for more of the query and for rarer words, across windows", () => {
    const common = Array.from({ length: 900 }, (_, index) => index * 1_000)
    assert.deepStrictEqual(found([slot([5, 700_000]), slot(common)]).slice(0, 2), [700_000, 5])
  })

  it("leave out what is excluded, and what has not all that is required", () => {
    assert.deepStrictEqual(found([slot([1, 2, 3, 4]), slot([2, 3], "required"), slot([3], "excluded")]), [2])
  })

  it("are the same for the best few as for all", () => {
    // Few documents in each of several windows, so that most of them match several slots.
    const number = fc.tuple(fc.nat(3), fc.nat(40)).map(([window, place]) => window * 65_536 + place)
    const numbers = fc.uniqueArray(number, { minLength: 1, maxLength: 120 })
    const role: fc.Arbitrary<ScoredSlot["role"]> = fc.constantFrom("wanted", "wanted", "wanted", "required", "excluded")
    const worth = fc.constantFrom(0, 0.1, 1, 1, 3, 20)
    const frequency = fc.constantFrom(1, 4, 255)
    fc.assert(
      fc.property(
        fc.array(fc.tuple(numbers, role, worth, frequency), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 20 }),
        (lists, limit) => {
          const slots = lists.map(([list, ...rest]) =>
            slot(
              list.toSorted((a, b) => a - b),
              ...rest
            )
          )
          assert.deepStrictEqual(found(slots, limit), found(slots, 1_000).slice(0, limit))
        }
      ),
      { numRuns: 1_000 }
    )
  })
})

describe("queries", () => {
  const slotsOf = (text: string, role = "wanted") =>
    readQuery(text, "en").slots.filter((slot) => slot.role === role && slot.times >= (role === "wanted" ? 0.5 : 0))
  const words = (text: string) => slotsOf(text).map(({ terms }) => terms[0])

  it("have quoted phrases, exclusions and sites", () => {
    const query = readQuery('"virtual machines" typography -weight -"a b" -useChat site:example.org', "en")
    assert.deepStrictEqual(query.phrases, [" virtual machines "])
    assert.deepStrictEqual(query.excludedPhrases, [" a b "])
    assert.deepStrictEqual(query.sites, ["example.org"])
    const excluded = query.slots.filter(({ role }) => role === "excluded").map(({ terms }) => terms[0])
    assert.deepStrictEqual(excluded, ["weight", "usechat"])
    const required = query.slots.filter(({ role }) => role === "required").map(({ terms }) => terms[0])
    assert.deepStrictEqual(required, ["virtual", "machin", "@example.org"])
  })

  it("of a passage of text have no operators, nor have quotation marks that hug nothing", () => {
    const passage = 'a long text of many words that has "marks of quotation" and a dash -like this'
    assert.deepStrictEqual(readQuery(passage, "en").phrases, [])
    assert.deepStrictEqual(slotsOf(passage, "excluded"), [])
    assert.deepStrictEqual(readQuery("token '<', \"<!DOCTYPE \"... is", "en").phrases, [])
  })

  it("do not count words such as how and to, unless there are no others", () => {
    assert.deepStrictEqual(words("how to center a div"), ["center", "div"])
    assert.deepStrictEqual(words(":is"), ["is"])
    assert.deepStrictEqual(words("to be or not to be"), ["to", "be", "or", "not"])
  })

  it("count a repeated word each time", () => {
    assert.deepStrictEqual(
      slotsOf("titles of title titles").map(({ times }) => times),
      [3]
    )
  })

  it("ask for the other form of a word of the trade", () => {
    assert.isTrue(slotsOf("postgres")[0]?.terms.includes("=postgresql") ?? false)
  })

  it("of any text have bounded terms that Postgres can take", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { slots } = readQuery(text, "en")
        assert.isAtMost(slots.length, 1_000)
        for (const term of slots.flatMap(({ terms }) => terms)) {
          assert.isTrue(term.isWellFormed() && !term.includes("\0") && term.length < 300, term)
        }
      })
    )
  })
})

describe("titles", () => {
  const title = (text: string, query = ["grid", "layout"]) =>
    titleScore({ worths: new Map(query.map((term) => [term, 1])), total: query.length, language: "en" }, text)

  it("that are the query count most, then titles with other words", () => {
    const scores = [title("Grid layout | MDN"), title("Grid of layouts"), title("Layout"), title("Nothing")]
    assert.deepStrictEqual(
      scores,
      scores.toSorted((a, b) => b - a)
    )
    assert.strictEqual(new Set(scores).size, scores.length)
  })
})

describe("words that no document has", () => {
  it("mean the words that are spelt like them, the closest and most common first", () => {
    const known = ["javascript", "javascripts", "java", "typescript"].map((term, index) => ({ term, documents: index }))
    assert.deepStrictEqual(
      meantBy("javasript", known).map(({ term }) => term),
      ["javascript", "javascripts"]
    )
    assert.deepStrictEqual(meantBy("abc", [{ term: "abd", documents: 1 }]), [])
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
  const worth = (wanted: string) => tokenWorth((term) => (term === wanted ? 1 : 0), "en")

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
