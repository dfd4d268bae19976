import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as fc from "fast-check"
import type { InvalidRequest, UnsupportedGeo, UnsupportedParameter } from "../../../src/domain/errors.ts"
import { decoder, type RawFields } from "../../../src/domain/requests/fields.ts"
import {
  jsonSearchFields,
  SearchParameters,
  type SearchRequest,
  toSearch
} from "../../../src/domain/search/SearchRequest.ts"

const decode = decoder(SearchParameters)
const read = (raw: RawFields) => Result.flatMap(decode(raw), (fields) => toSearch(fields))

const served = (raw: RawFields): SearchRequest => {
  const result = read(raw)
  if (Result.isFailure(result)) assert.fail(`${JSON.stringify(raw)} was refused: ${result.failure.message}`)
  return result.success
}

const refused = (raw: RawFields): InvalidRequest | UnsupportedGeo | UnsupportedParameter => {
  const result = read(raw)
  if (Result.isSuccess(result)) assert.fail(`${JSON.stringify(raw)} was accepted`)
  return result.failure
}

/** The fields named by the issues of an `invalid_request`, in the order of the answer. */
const invalidFields = (raw: RawFields): ReadonlyArray<string> => {
  const failure = refused(raw)
  if (failure._tag !== "invalid_request") assert.fail(`${JSON.stringify(raw)} is ${failure._tag}`)
  return failure.issues.map((issue) => issue.field)
}

/** The specification's target table. */
const targetTable = [
  { target: "alpha_search", pages: 5, num: 20, safe: ["off", "moderate", "strict"] },
  { target: "beta_search", pages: 1, num: 20, safe: ["off", "moderate", "strict"] },
  { target: "gamma_search", pages: 1, num: 10, safe: ["off"] },
  { target: "delta_search", pages: 1, num: 10, safe: ["off", "moderate", "strict"] },
  { target: "epsilon_search", pages: 5, num: 20, safe: ["off", "moderate", "strict"] },
  { target: "zeta_search", pages: 5, num: 10, safe: ["off"] }
] as const

/** The specification's table of what each target refuses, with the least value refused. */
const refusedTable = [
  ["beta_search", "page", "2"],
  ["gamma_search", "page", "2"],
  ["gamma_search", "num", "11"],
  ["gamma_search", "safe", "moderate"],
  ["gamma_search", "safe", "strict"],
  ["delta_search", "page", "2"],
  ["delta_search", "num", "11"],
  ["epsilon_search", "page", "6"],
  ["zeta_search", "num", "11"],
  ["zeta_search", "safe", "moderate"],
  ["zeta_search", "safe", "strict"]
] as const

describe("the target table", () => {
  for (const { num, pages, safe, target } of targetTable) {
    it(`${target} serves pages 1 to ${pages}`, () => {
      for (let page = 1; page <= pages; page++)
        assert.strictEqual(served({ query: "a", target, page: `${page}` }).page, page)
    })

    it(`${target} serves num 1 to ${num}`, () => {
      for (let n = 1; n <= num; n++) assert.strictEqual(served({ query: "a", target, num: `${n}` }).num, n)
    })

    it(`${target} serves safe ${safe.join(", ")}`, () => {
      for (const level of safe) assert.strictEqual(served({ query: "a", target, safe: level }).safe, level)
    })
  }

  for (const [target, parameter, value] of refusedTable) {
    it(`R6: ${target} refuses ${parameter}=${value} with a message that names both and what is accepted`, () => {
      const failure = refused({ query: "a", target, [parameter]: value })
      assert.strictEqual(failure._tag, "unsupported_parameter")
      assert.match(failure.message, new RegExp(`^${target} accepts only ${parameter} (?:1|1 to \\d+|off)\\.$`))
    })
  }

  for (const { num, target } of targetTable) {
    for (let n = 11; n <= 20; n++) {
      if (num >= n) continue
      it(`${target} answers num=${n} with unsupported_parameter`, () => {
        assert.strictEqual(refused({ query: "a", target, num: `${n}` })._tag, "unsupported_parameter")
      })
    }

    it(`${target} answers num=21 with invalid_request`, () => {
      assert.deepStrictEqual(invalidFields({ query: "a", target, num: "21" }), ["num"])
    })
  }
})

describe("R7: page", () => {
  const [ok, invalid, unsupported] = ["ok", "invalid_request", "unsupported_parameter"] as const
  const huge = ["7", "100", "9007199254740993", "9".repeat(400)]
  const table = [
    ["alpha_search", { "0": invalid, "1": ok, "5": ok, "6": invalid, huge: invalid }],
    ["beta_search", { "0": invalid, "1": ok, "5": unsupported, "6": unsupported, huge: unsupported }],
    ["gamma_search", { "0": invalid, "1": ok, "5": unsupported, "6": unsupported, huge: unsupported }],
    ["delta_search", { "0": invalid, "1": ok, "5": unsupported, "6": unsupported, huge: unsupported }],
    ["epsilon_search", { "0": invalid, "1": ok, "5": ok, "6": unsupported, huge: unsupported }],
    ["zeta_search", { "0": invalid, "1": ok, "5": ok, "6": invalid, huge: invalid }]
  ] as const
  for (const [target, row] of table) {
    for (const [page, expected] of Object.entries(row)) {
      it(`${target} answers page=${page} with ${expected}`, () => {
        for (const text of page === "huge" ? huge : [page]) {
          const result = read({ query: "a", target, page: text })
          assert.strictEqual(Result.isSuccess(result) ? "ok" : result.failure._tag, expected)
        }
      })
    }
  }

  it("a refusal never tells a number back in a form the caller did not send", () => {
    for (const page of huge)
      assert.notMatch(refused({ query: "a", target: "beta_search", page }).message, /Infinity|e\+/)
  })

  it("above 5 is listed beside an unknown target: no target serves it", () => {
    assert.deepStrictEqual(invalidFields({ query: "a", target: "omega_search", page: "6" }), ["target", "page"])
    assert.deepStrictEqual(invalidFields({ query: "a", target: "omega_search", page: "5" }), ["target"])
  })
})

describe("defaults", () => {
  it("are those of the specification's parameter table", () => {
    assert.deepStrictEqual(served({ query: "cats" }), {
      target: "alpha_search",
      query: "cats",
      geo: "us",
      locale: "en-us",
      page: 1,
      num: 10,
      safe: "off",
      source: undefined
    })
  })

  it("num is 10 for every target", () => {
    for (const { target } of targetTable) assert.strictEqual(served({ query: "a", target }).num, 10)
  })

  it("query has none", () => {
    assert.deepStrictEqual(refused({}).message, "The request is invalid: query is required")
    assert.deepStrictEqual(invalidFields({}), ["query"])
  })
})

const fields = ["query", "target", "geo", "locale", "page", "num", "safe", "source"] as const
const valid: Record<(typeof fields)[number], string> = {
  query: "cats",
  target: "alpha_search",
  geo: "de",
  locale: "en-gb",
  page: "2",
  num: "20",
  safe: "strict",
  source: "n8n"
}

describe("R4: parameters", () => {
  it("outside the table are ignored with any value", () => {
    const extra = { q: "x", Query: "x", lang: ["a", "b"], "": "", constructor: "x", toString: null, api_key: "k" }
    assert.deepStrictEqual(served({ ...valid, ...extra }), served(valid))
  })

  for (const field of fields) {
    it(`${field} given twice is invalid_request on it, even with one value`, () => {
      assert.deepStrictEqual(invalidFields({ ...valid, [field]: [valid[field], valid[field]] }), [field])
    })
  }

  for (const field of ["query", "target", "locale", "page", "num", "safe"] as const) {
    it(`${field} given empty is a value, and not a valid one`, () => {
      assert.deepStrictEqual(invalidFields({ ...valid, [field]: "" }), [field])
    })
  }

  it("geo given empty is a value, and no country (R8)", () => {
    assert.strictEqual(refused({ ...valid, geo: "" })._tag, "unsupported_geo")
  })

  it("source given empty is a value, and a label", () => {
    assert.strictEqual(served({ ...valid, source: "" }).source, "")
  })
})

describe("R5: integers", () => {
  const notDigits = [
    " 1",
    "1 ",
    "1\n",
    "1.0",
    "1.",
    ".1",
    "+1",
    "-1",
    "-0",
    "1e0",
    "٣",
    "１",
    "²",
    "0x1",
    "0b1",
    "1_0",
    "1n",
    "NaN",
    "Infinity",
    "null",
    "true"
  ]
  for (const text of [...notDigits, "0", "00", "21", "99999999999999999999"]) {
    it(`num=${JSON.stringify(text)} is invalid_request`, () => {
      assert.deepStrictEqual(invalidFields({ query: "a", num: text }), ["num"])
    })
  }

  for (const text of notDigits) {
    it(`page=${JSON.stringify(text)} is invalid_request, for a target with one page too`, () => {
      assert.deepStrictEqual(invalidFields({ query: "a", page: text }), ["page"])
      assert.deepStrictEqual(invalidFields({ query: "a", target: "beta_search", page: text }), ["page"])
    })
  }

  it("leading zeros are plain decimal digits", () => {
    assert.strictEqual(served({ query: "a", num: "010" }).num, 10)
    assert.strictEqual(served({ query: "a", page: "0005" }).page, 5)
  })

  it("a JSON number is not text of a query string", () => {
    assert.deepStrictEqual(invalidFields({ query: "a", page: 1, num: 10 }), ["page", "num"])
  })

  it("num in a JSON body is a JSON number from 1 to 20", () => {
    const accepts = Schema.is(jsonSearchFields.num.schema)
    for (let n = 1; n <= 20; n++) assert.isTrue(accepts(n))
    for (const input of [0, -1, 21, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "10", "", true, null, [10], {}]) {
      assert.isFalse(accepts(input), `${input}`)
    }
  })
})

describe("R6: two stages", () => {
  const wrong = { target: "omega", geo: 1, locale: "english", page: "0", num: "21", safe: "on", source: "\0" }

  it("every plain failure is listed, in the table's order", () => {
    assert.deepStrictEqual(invalidFields({ query: " ", ...wrong }), [
      "query",
      "target",
      "geo",
      "locale",
      "page",
      "num",
      "safe",
      "source"
    ])
    assert.deepStrictEqual(invalidFields(wrong)[0], "query")
  })

  it("every pair of failures is listed together", () => {
    const entries = Object.entries(wrong)
    for (const [first, a] of entries) {
      for (const [second, b] of entries) {
        if (first === second) continue
        assert.sameMembers([...invalidFields({ query: "a", [first]: a, [second]: b })], [first, second])
      }
    }
  })

  it("the message names each failed field", () => {
    const { message } = refused({ query: "a", ...wrong })
    for (const field of Object.keys(wrong)) assert.include(message, `${field} must`)
  })

  it("a plain failure hides an unsupported country and an unsupported parameter", () => {
    assert.deepStrictEqual(invalidFields({ query: "", geo: "xx", target: "gamma_search", num: "20" }), ["query"])
  })

  it("an unsupported country comes before what the target refuses", () => {
    assert.strictEqual(refused({ query: "a", geo: "xx", target: "gamma_search", num: "20" })._tag, "unsupported_geo")
    assert.strictEqual(refused({ query: "a", geo: "xx", target: "beta_search", page: "6" })._tag, "unsupported_geo")
  })

  it("what the form refuses comes after plain failures and the country", () => {
    const tag = (raw: RawFields) => {
      const result = Result.flatMap(decode(raw), (fields) => toSearch(fields, "not here"))
      return Result.isFailure(result) ? [result.failure._tag, result.failure.message] : []
    }
    assert.deepStrictEqual(tag({ query: "a" }), ["unsupported_parameter", "not here"])
    assert.strictEqual(tag({ query: "" })[0], "invalid_request")
    assert.strictEqual(tag({ query: "a", geo: "xx" })[0], "unsupported_geo")
  })
})

describe("R8: geo", () => {
  it("is matched in either letter case and answered in lower case", () => {
    for (const geo of ["DE", "De", "dE", "de"]) assert.strictEqual(served({ query: "a", geo }).geo, "de")
  })

  const noCountry = [
    "",
    "x",
    "xx",
    "uk",
    "usa",
    " us",
    "us ",
    "us\n",
    "d-e",
    "\0",
    "\ud800",
    "\u212ae",
    "ｕｓ",
    "-",
    "__proto__"
  ]
  for (const geo of noCountry) {
    it(`${JSON.stringify(geo)} is unsupported_geo, which lists the 193 codes`, () => {
      const failure = refused({ query: "a", geo })
      if (failure._tag !== "unsupported_geo") assert.fail(failure._tag)
      assert.strictEqual(failure.details.length, 193)
      assert.isTrue(failure.message.isWellFormed())
      // A row of a batch has the message without the list.
      assert.notInclude(failure.message, "details")
    })
  }

  it.each([
    ["uk", " Did you mean gb?"],
    ["USA", " Did you mean us?"],
    ["zz", ""],
    ["constructor", ""],
    ["z".repeat(100_000), ""]
  ])("R70: %s gets at most the nearest code as a hint", (geo, suggestion) => {
    const { message } = refused({ query: "a", geo })
    assert.strictEqual(message, `geo "${geo.slice(0, 32)}" is not a supported country code.${suggestion}`)
  })

  it("a long one is not told back whole", () => {
    assert.isBelow(refused({ query: "a", geo: "z".repeat(100_000) }).message.length, 200)
  })

  it("anything but a string is invalid_request", () => {
    for (const geo of [null, 1, true, {}, ["us"]]) assert.deepStrictEqual(invalidFields({ query: "a", geo }), ["geo"])
  })
})

describe("R9: locale", () => {
  for (const [geo, locale] of [
    ["us", "en-us"],
    ["jp", "ja-jp"],
    ["br", "pt-br"],
    ["IN", "en-in"]
  ] as const) {
    it(`defaults to ${locale} for geo=${geo}`, () => {
      assert.strictEqual(served({ query: "a", geo }).locale, locale)
    })
  }

  it("any pair of letters is accepted in either case, and returned in lower case", () => {
    assert.strictEqual(served({ query: "a", geo: "jp", locale: "DE-ch" }).locale, "de-ch")
    assert.strictEqual(served({ query: "a", locale: "Qq-XX" }).locale, "qq-xx")
  })

  for (const locale of [
    "en",
    "en_us",
    "en-usa",
    "eng-us",
    "en-us-x",
    " en-us",
    "en-us\n",
    "e1-us",
    "\u212ae-us",
    "ſe-us"
  ]) {
    it(`${JSON.stringify(locale)} is invalid_request`, () => {
      assert.deepStrictEqual(invalidFields({ query: "a", locale }), ["locale"])
    })
  }
})

describe("R10: query", () => {
  it("is trimmed and its runs of whitespace collapsed", () => {
    assert.strictEqual(served({ query: "  a \t\r\n b\u3000\u00a0c  " }).query, "a b c")
  })

  it("whitespace is Unicode White_Space, U+200B and U+FEFF", () => {
    const spaces = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
    for (const space of spaces) assert.strictEqual(served({ query: `${space}a${space}${space}b${space}` }).query, "a b")
    assert.strictEqual(served({ query: `${spaces}a${spaces}b${spaces}` }).query, "a b")
  })

  it("other invisible characters are text", () => {
    for (const character of "\u200c\u200d\u2060\u180e\u00ad") {
      assert.strictEqual(served({ query: `a${character}b` }).query, `a${character}b`)
    }
  })

  it("of whitespace only is refused", () => {
    for (const query of ["", " ", "\u200b", "\ufeff\u0085\n"])
      assert.deepStrictEqual(invalidFields({ query }), ["query"])
  })

  it("length counts code points", () => {
    for (const character of ["a", "é", "字", "😀"]) {
      assert.strictEqual(served({ query: character.repeat(400) }).query, character.repeat(400))
      assert.deepStrictEqual(invalidFields({ query: character.repeat(401) }), ["query"])
    }
  })

  it("length is counted after normalisation", () => {
    assert.strictEqual(served({ query: ` ${"a  ".repeat(200)}` }).query.length, 399)
    assert.strictEqual(served({ query: `${" ".repeat(5_000)}a${" ".repeat(5_000)}` }).query, "a")
  })

  for (const query of ["\0", "a\0b", "\ud83d", "\ude00", "a\ud83d b", "\ude00\ud83d", "\ud83d\u200b\ude00"]) {
    it(`${JSON.stringify(query)} is invalid_request`, () => {
      assert.deepStrictEqual(invalidFields({ query }), ["query"])
    })
  }
})

describe("R11: source", () => {
  it("is cut to 32 code points and never inside one", () => {
    assert.strictEqual(served({ query: "a", source: "s".repeat(32) }).source, "s".repeat(32))
    assert.strictEqual(served({ query: "a", source: "s".repeat(33) }).source, "s".repeat(32))
    assert.strictEqual(served({ query: "a", source: "😀".repeat(40) }).source, "😀".repeat(32))
    assert.strictEqual(served({ query: "a", source: `${"s".repeat(31)}😀s` }).source, `${"s".repeat(31)}😀`)
  })

  it("is kept as sent otherwise", () => {
    assert.strictEqual(served({ query: "a", source: "  My  App " }).source, "  My  App ")
  })
})

const mostly = (accepted: fc.Arbitrary<string>, other: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ weight: 7, arbitrary: accepted }, { weight: 1, arbitrary: other })

/** Values near what each field accepts, so that both outcomes are common. */
const near = {
  query: mostly(fc.constantFrom("cats", " a  b ", "\u200b😀"), fc.string({ unit: "binary", maxLength: 420 })),
  target: mostly(fc.constantFrom(...targetTable.map((row) => row.target)), fc.constant("omega_search")),
  geo: mostly(fc.constantFrom("us", "DE", "in"), fc.string({ maxLength: 3 })),
  locale: mostly(fc.constantFrom("en-us", "PT-br", "xx-yy"), fc.string({ maxLength: 6 })),
  page: mostly(fc.constantFrom("1", "01", "2", "5"), fc.integer({ min: -1, max: 8 }).map(String)),
  num: mostly(fc.constantFrom("1", "10", "11", "20"), fc.string({ maxLength: 3 })),
  safe: mostly(fc.constantFrom("off", "moderate"), fc.constant("on")),
  source: fc.string({ unit: "binary", maxLength: 50 }).map((text) => text.toWellFormed().replaceAll("\0", ""))
}
const nearRaw = fc.record(near, { requiredKeys: ["query"] })
const anyRaw = fc
  .record(
    Object.fromEntries(
      Object.entries(near).map(([field, values]) => [field, fc.oneof(values, fc.jsonValue(), fc.array(values))])
    ),
    { requiredKeys: [] }
  )
  .map((raw): RawFields => raw)

const assertInvariants = (search: SearchRequest) => {
  const row = targetTable.find(({ target }) => target === search.target)
  if (row === undefined) assert.fail(`target ${search.target}`)
  assert.isTrue(Number.isInteger(search.page) && search.page >= 1 && search.page <= row.pages)
  assert.isTrue(Number.isInteger(search.num) && search.num >= 1 && search.num <= row.num)
  assert.include(row.safe, search.safe)
  assert.match(search.geo, /^[a-z]{2}$/)
  assert.match(search.locale, /^[a-z]{2}-[a-z]{2}$/)
  const length = Array.from(search.query).length
  assert.isTrue(length >= 1 && length <= 400)
  assert.isTrue(search.query.isWellFormed())
  assert.notMatch(search.query, /\0|^\s|\s$|\s\s|[\u0085\u200b\ufeff]/)
  assert.isAtMost(Array.from(search.source ?? "").length, 32)
}

describe("decoding", () => {
  it("never throws on JSON values; what it accepts keeps every invariant, what it refuses names a field", () => {
    let accepted = 0
    const property = (raw: RawFields) => {
      const result = read(raw)
      if (Result.isSuccess(result)) {
        accepted++
        return assertInvariants(result.success)
      }
      const failure = result.failure
      switch (failure._tag) {
        case "invalid_request":
          assert.isNotEmpty(failure.issues)
          for (const { field } of failure.issues) {
            assert.isTrue(field in raw || field === "query", `${field} was not sent`)
          }
          assert.strictEqual(new Set(failure.issues.map(({ field }) => field)).size, failure.issues.length)
          break
        case "unsupported_geo":
          assert.isString(raw.geo)
          break
        case "unsupported_parameter":
          assert.include(Object.keys(raw), / accepts only (page|num|safe) /.exec(failure.message)?.[1])
      }
    }
    fc.assert(fc.property(nearRaw, property), { numRuns: 2_000 })
    fc.assert(fc.property(anyRaw, property), { numRuns: 2_000 })
    assert.isAbove(accepted, 50, "the generator must reach what is accepted")
  })

  it("is idempotent: an accepted search sent again is the same search", () => {
    const again = (search: SearchRequest) => {
      const { source, ...rest } = search
      return served({ ...rest, page: `${rest.page}`, num: `${rest.num}`, ...(source === undefined ? {} : { source }) })
    }
    fc.assert(
      fc.property(nearRaw, (raw) => {
        const result = read(raw)
        fc.pre(Result.isSuccess(result))
        assert.deepStrictEqual(again(result.success), result.success)
      }),
      { numRuns: 300, maxSkipsPerRun: 1_000 }
    )
  })

  it("takes any well-formed text without NUL of 1 to 400 code points as a query", () => {
    const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 100 }).filter((query) => query.trim() !== "")
    fc.assert(fc.property(text, (query) => assertInvariants(served({ query: `x${query}` }))))
  })

  it("survives values nested far too deep to print", () => {
    let deep: unknown = []
    for (let depth = 0; depth < 50_000; depth++) deep = { deep: [deep] }
    for (const field of fields) assert.include(invalidFields({ query: "a", [field]: deep }), field)
  })
})
