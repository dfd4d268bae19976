import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as fc from "fast-check"
import {
  maxSnippetCodePoints,
  maxTitleCodePoints,
  maxUrlUnits,
  plainText,
  rank,
  registrableDomain,
  shownText,
  type UpstreamRow
} from "../../../src/domain/search/Organic.ts"
import { OrganicResult } from "../../../src/domain/search/OrganicResult.ts"

const row = (url: string, title = "", snippet = ""): UpstreamRow => ({ url, title, snippet })

/** The URLs that survive, in order. */
const ranked = (urls: ReadonlyArray<string>, num = 20): ReadonlyArray<string> =>
  rank(
    urls.map((url) => row(url)),
    num
  ).map((result) => result.url)

/** Whether two URLs, both absolute, are one result. */
const isSame = (first: string, second: string): boolean => ranked([first, second]).length === 1

describe("R12: the same result", () => {
  const same: ReadonlyArray<readonly [what: string, first: string, second: string]> = [
    ["scheme in another case", "https://example.com/a", "HTTPS://example.com/a"],
    ["host in another case", "https://example.com/a", "https://EXAMPLE.com/a"],
    ["default port of https", "https://example.com/a", "https://example.com:443/a"],
    ["default port of http", "http://example.com/a", "http://example.com:80/a"],
    ["fragment", "https://example.com/a", "https://example.com/a#top"],
    ["empty fragment", "https://example.com/a", "https://example.com/a#"],
    ["slash of an empty path", "https://example.com", "https://example.com/"],
    ["slash of an empty path before a query", "https://example.com?q=1", "https://example.com/?q=1"],
    ["slash of an empty path before a fragment", "https://example.com", "https://example.com/#top"],
    ["utm_source", "https://example.com/a", "https://example.com/a?utm_source=x"],
    ["any utm_ parameter", "https://example.com/a", "https://example.com/a?utm_anything=x&utm_=y&utm_term"],
    ["gclid", "https://example.com/a?b=1", "https://example.com/a?gclid=x&b=1"],
    ["fbclid", "https://example.com/a?b=1", "https://example.com/a?b=1&fbclid=x"],
    ["an empty query", "https://example.com/a", "https://example.com/a?"],
    ["tracking in upper case", "https://example.com/a", "https://example.com/a?UTM_Source=x&GCLID=y"],
    ["tracking between others", "https://example.com/a?b=1&c=2", "https://example.com/a?b=1&utm_medium=x&c=2"],
    ["everything at once", "https://example.com", "HTTPS://Example.COM:443/?gclid=1&utm_id=2&fbclid=3#x"]
  ]
  for (const [what, first, second] of same) {
    it(`${what} is ignored; the first one wins as the engine gave it`, () => {
      assert.deepStrictEqual(ranked([first, second]), [first])
      assert.deepStrictEqual(ranked([second, first]), [second])
    })
  }

  const different: ReadonlyArray<readonly [what: string, first: string, second: string]> = [
    ["scheme", "https://example.com/", "http://example.com/"],
    ["host", "https://example.com/", "https://www.example.com/"],
    ["port", "https://example.com/", "https://example.com:8443/"],
    ["the other scheme's default port", "https://example.com/", "https://example.com:80/"],
    ["path", "https://example.com/a", "https://example.com/b"],
    ["case of the path", "https://example.com/a", "https://example.com/A"],
    ["slash of a path that is not empty", "https://example.com/a", "https://example.com/a/"],
    ["query", "https://example.com/?q=1", "https://example.com/?q=2"],
    ["case of the query", "https://example.com/?q=a", "https://example.com/?q=A"],
    ["order of parameters", "https://example.com/?a=1&b=2", "https://example.com/?b=2&a=1"],
    ["an empty parameter", "https://example.com/?q=1", "https://example.com/?q=1&"],
    ["encoding of a value", "https://example.com/?q=a+b", "https://example.com/?q=a%20b"],
    ["a name that only begins with gclid", "https://example.com/", "https://example.com/?gclid2=1"],
    ["a name that only ends with fbclid", "https://example.com/", "https://example.com/?xfbclid=1"],
    ["a name that only begins with utm", "https://example.com/", "https://example.com/?utm=1"],
    ["a value that looks like tracking", "https://example.com/", "https://example.com/?a=utm_source"],
    ["user", "https://example.com/", "https://user@example.com/"]
  ]
  for (const [what, first, second] of different) {
    it(`${what} makes another result`, () => {
      assert.deepStrictEqual(ranked([first, second]), [first, second])
    })
  }

  it("the first row's title and snippet are the ones answered", () => {
    const results = rank([row("https://a.com", "one", "1"), row("https://a.com/", "two", "2")], 10)
    assert.deepStrictEqual(results, [
      { position: 1, title: "one", url: "https://a.com", domain: "a.com", snippet: "1" }
    ])
  })
})

describe("R12: rows other than results", () => {
  const dropped = [
    "",
    "/relative",
    "//example.com/a",
    "example.com",
    "www.example.com/a",
    "ftp://example.com/",
    "javascript:alert(1)",
    "javascript://example.com/%0aalert(1)",
    "data:text/html,x",
    "mailto:a@example.com",
    "view-source:https://example.com",
    "https:example.com",
    "https:/example.com",
    "https:\\\\example.com",
    "http://",
    "https://?q=1",
    "https://#x",
    "https://exa mple.com/",
    "https://example.com:99999/",
    "https://[::1/",
    "https://%00/",
    " https://example.com/",
    "https://example.com/\r\nSet-Cookie: a=b",
    "https://exam\tple.com/",
    "https://example.com/\0",
    "https://example.com/\ud800",
    "null",
    "undefined"
  ]
  for (const url of dropped) {
    it(`${JSON.stringify(url)} is dropped`, () => {
      assert.deepStrictEqual(ranked([url, "https://kept.example/"]), ["https://kept.example/"])
    })
  }

  it("dropped rows take no position", () => {
    const results = rank([row("ftp://a.com"), row("https://a.com"), row("nonsense"), row("https://b.com")], 2)
    assert.deepStrictEqual(
      results.map(({ position, url }) => [position, url]),
      [
        [1, "https://a.com"],
        [2, "https://b.com"]
      ]
    )
  })

  it("addresses that look odd but are absolute are kept as given", () => {
    const urls = [
      "HTTP://Example.com",
      "https://1.2.3.4:8080/x",
      "https://[::1]/",
      "https://例え.jp/パス?q=値",
      "http://a/ b"
    ]
    assert.deepStrictEqual(ranked(urls), urls)
  })
})

describe("R12: the cut", () => {
  it("comes after de-duplication and before numbering", () => {
    const rows = ["https://a.com", "https://a.com/", "https://b.com", "https://c.com"].map((url) => row(url))
    assert.deepStrictEqual(
      rank(rows, 2).map(({ position, url }) => [position, url]),
      [
        [1, "https://a.com"],
        [2, "https://b.com"]
      ]
    )
  })

  it("fewer rows than num are not an error, nor are none", () => {
    assert.strictEqual(rank([row("https://a.com")], 20).length, 1)
    assert.deepStrictEqual(rank([], 20), [])
  })

  it("rows beyond num are not read", () => {
    const endless = function* () {
      for (let n = 0; ; n++) yield row(`https://example.com/${n}`)
    }
    assert.strictEqual(rank(endless(), 20).length, 20)
  })
})

describe("domain", () => {
  const table: ReadonlyArray<readonly [url: string, domain: string]> = [
    ["https://example.com/", "example.com"],
    ["https://www.example.com/", "example.com"],
    ["https://a.b.co.uk/", "b.co.uk"],
    ["https://WWW.Example.CO.UK:8443/x", "example.co.uk"],
    ["https://user:pass@www.example.com/", "example.com"],
    ["https://example.com@evil.test.org/", "test.org"],
    ["https://www.example.com./", "example.com"],
    // Neither an IP address nor a single label nor a public suffix has a registrable domain.
    ["http://192.168.0.1:3000/", "192.168.0.1"],
    ["http://[2001:db8::1]/", "2001:db8::1"],
    ["http://localhost:8080/", "localhost"],
    ["http://localhost./", "localhost"],
    ["http://intranet/", "intranet"],
    ["https://co.uk/", "co.uk"],
    ["https://github.io/", "github.io"],
    // Private suffixes are public suffixes, as in the URL Standard's own example.
    ["https://whatwg.github.io/url", "whatwg.github.io"],
    ["https://a.whatwg.github.io/", "whatwg.github.io"],
    // Wildcard and exception rules of the Public Suffix List.
    ["https://a.b.c.ck/", "b.c.ck"],
    ["https://a.www.ck/", "www.ck"],
    // A suffix nobody listed counts as one label.
    ["https://wiki.corp.internal/", "corp.internal"],
    ["https://www.bücher.de/", "xn--bcher-kva.de"],
    ["https://www.xn--bcher-kva.de/", "xn--bcher-kva.de"],
    ["https://a.b.公司.cn/", "b.xn--55qx5d.cn"],
    // Hostnames that URLs allow and DNS does not.
    ["https://a_b.example.com/", "example.com"],
    ["https://-a.example.com/", "example.com"],
    [`https://${"a".repeat(70)}.example.com/`, "example.com"]
  ]
  for (const [url, domain] of table) {
    it(`of ${url.slice(0, 50)} is ${domain}`, () => {
      assert.strictEqual(rank([row(url)], 1)[0]?.domain, domain)
    })
  }

  it("is never empty, ends the hostname, and has itself as its domain", () => {
    fc.assert(
      fc.property(fc.webUrl(), (text) => {
        const { hostname } = new URL(text)
        const domain = registrableDomain(hostname)
        assert.isNotEmpty(domain)
        assert.isTrue(hostname.endsWith(domain))
        assert.strictEqual(registrableDomain(domain), domain)
      })
    )
  })
})

describe("R12: plain text", () => {
  const table: ReadonlyArray<readonly [html: string, text: string]> = [
    ["", ""],
    ["plain", "plain"],
    ["<b>bold</b> and <em>not</em>", "bold and not"],
    ["<B CLASS='x'>up</B>", "up"],
    ["in<b>side</b> a word", "inside a word"],
    ["one<br>two<br/>three<p>four</p>five", "one two three four five"],
    ['<a href="https://a.com/?x=1&amp;y=2">link</a>', "link"],
    ['<a title="a > b">quoted</a>', "quoted"],
    ["<a title='a > b' />quoted", "quoted"],
    ['<a title="never closed>quoted', "quoted"],
    ["<b class=it's>apostrophe</b>", "apostrophe"],
    ["a<!-- comment <b> -->b", "ab"],
    ["<!DOCTYPE html>text", "text"],
    ["<script>alert(1)</script>text", "text"],
    ["<SCRIPT src=x>alert('</b>')</SCRIPT >text", "text"],
    ["<style>b{color:red}</style>text", "text"],
    ["<svg><path d='M0 0'/></svg>text", "text"],
    ["Tom &amp; Jerry", "Tom & Jerry"],
    ["&quot;q&quot; &#39;a&#39; &#x41;&#66; &eacute;&hellip;", "\"q\" 'a' AB é…"],
    ["a&nbsp;b&#160;&#x200B;c", "a b c"],
    ["1 &lt; 2 &gt; 0", "1 < 2 > 0"],
    ["a  \n\t b", "a b"],
    ["a\0b", "ab"],
    ["a\u001b]0;x\u0007 \u001b[2Jb\u007f\u009bc&#27;", "a]0;x [2Jbc"],
    ["?lang=en&region=us&currency=USD&copy=2", "?lang=en&region=us&currency=USD&copy=2"],
    ["&#0;&#xD800;&#x110000;", "\ufffd\ufffd\ufffd"],
    ["a\ud800b", "a\ufffdb"],
    // Entities are decoded once, after the tags are gone: what an engine escaped is what the page says.
    ["&lt;b&gt; makes text bold", "<b> makes text bold"],
    ["&amp;lt;", "&lt;"],
    ["&amp;amp;", "&amp;"],
    // Anything but an HTML tag is text.
    ["a < b > c", "a < b > c"],
    ["1<2 && 3>2", "1<2 && 3>2"],
    ["Array<string> explained", "Array<string> explained"],
    ["Map<K, V>", "Map<K, V>"],
    ["I <3 you", "I <3 you"],
    ["AT&T & co", "AT&T & co"],
    ["&unknown; &", "&unknown; &"],
    // A title may speak of an element without closing it.
    ["The <script> element", "The element"],
    ["ends in <b", "ends in <b"]
  ]
  for (const [html, text] of table) {
    it(`${JSON.stringify(html)} reads ${JSON.stringify(text)}`, () => assert.strictEqual(plainText(html), text))
  }

  it("titles and snippets both become it", () => {
    const html = row("https://a.com", "<b>T</b> &amp; <p>t", "<i>S</i> &amp; <p>s")
    const [result] = rank([{ ...html, isHtml: true }], 1)
    assert.deepStrictEqual([result?.title, result?.snippet], ["T & t", "S & s"])
    const [plain] = rank([html], 1)
    assert.deepStrictEqual([plain?.title, plain?.snippet], ["T & <p>t", "S & <p>s"])
  })

  it("is well-formed, trimmed, on one line and without NUL, for any input", () => {
    const pieces = fc.constantFrom(
      "<b",
      ">",
      "</b>",
      "<script>",
      "</script>",
      "<!--",
      "-->",
      "&",
      "&lt;",
      "&#",
      ";",
      '"',
      "'"
    )
    const hostile = fc
      .array(fc.oneof(pieces, fc.string({ unit: "binary", maxLength: 5 })))
      .map((parts) => parts.join(""))
    fc.assert(
      fc.property(hostile, (html) => {
        const text = plainText(html)
        assert.isTrue(text.isWellFormed())
        assert.notMatch(text, /\0|^\s|\s$|\s\s|[\n\r\t\u200b\ufeff]/)
      })
    )
  })

  it("keeps text without markup as it is, but for its whitespace", () => {
    const words = fc.array(
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }).filter((word) => !/[<&\s\p{Cc}]/u.test(word))
    )
    fc.assert(fc.property(words, (parts) => plainText(parts.join("  ")) === parts.join(" ").trim()))
  })

  const repeat = (piece: string, length: number) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
  const hostile = {
    "unclosed tags": "<b ",
    "unclosed scripts": "<script>",
    "half-open scripts": "<script ",
    "several opaque elements": "<svg><style><iframe>",
    "unclosed comments": "<!--",
    "unclosed doctypes": "<!doctype ",
    "nested elements": "<div><b>",
    "unclosed quotes": "<a \"<a '",
    "empty attributes": '<a "" ',
    "lone angles": "<",
    ampersands: "&",
    "half entities": "&am",
    "numeric entities": "&#x",
    spaces: " \n"
  }
  for (const [what, piece] of Object.entries(hostile)) {
    it(`${what}: 100,000 characters cost no more than a few milliseconds`, () => {
      const cost = (length: number) => {
        const html = repeat(piece, length)
        plainText(html)
        const before = process.threadCpuUsage()
        for (let run = 0; run < 5; run++) plainText(html)
        const { system, user } = process.threadCpuUsage(before)
        return (user + system) / 5000
      }
      const [short, long] = [cost(5_000), cost(100_000)]
      // Milliseconds of CPU. Quadratic reading of 100,000 characters takes seconds.
      assert.isBelow(short, 50, `5,000 characters took ${short} ms`)
      assert.isBelow(long, 50, `100,000 characters took ${long} ms`)
    })
  }

  it("text beyond 5,000 units is cut, so that a page in a snippet stays a snippet", () => {
    assert.strictEqual(plainText("x".repeat(100_000)).length, 5_000)
    assert.isTrue(plainText(`${"x".repeat(4_999)}😀`).isWellFormed())
  })
})

describe("R12: text that is not HTML", () => {
  const table: ReadonlyArray<readonly [text: string, shown: string]> = [
    ["<section>: The Generic Section element", "<section>: The Generic Section element"],
    ["Promise<Array<object>>", "Promise<Array<object>>"],
    ["if a<b && c>d", "if a<b && c>d"],
    ["<script>alert(1)</script>", "<script>alert(1)</script>"],
    ["a <b>bold</b> <EM>word</em> and <mark>more</mark>", "a bold word and more"],
    ["<strong><i>nested</i></strong>", "nested"],
    ["Set<b> of <i>", "Set<b> of <i>"],
    ["</b>closed<b>", "</b>closed<b>"],
    ["<b>crossed <i>over</b> it</i>", "crossed <i>over it</i>"],
    ['<b class="x">kept</b>', '<b class="x">kept</b>'],
    ["Tom &amp; Jerry &#39;s &lt;b&gt;", "Tom & Jerry 's <b>"],
    ["?a=1&amp=2&lt=3&para=4", "?a=1&amp=2&lt=3&para=4"],
    ["tab\there\nline\u0085next", "tab here line next"],
    ["bell\u0007 \u001b[31mred&#7;", "bell [31mred"]
  ]
  for (const [text, shown] of table) {
    it(`${JSON.stringify(text)} reads ${JSON.stringify(shown)}`, () => assert.strictEqual(shownText(text), shown))
  }

  it("removes, replaces or keeps each code unit between two letters by what Unicode says of it", () => {
    for (let unit = 0; unit <= 0xffff; unit++) {
      const character = String.fromCharCode(unit)
      const isSpace = /[\p{White_Space}\u200b\ufeff]/u.test(character)
      const isControl = /\p{Cc}/u.test(character)
      const shown = isSpace ? " " : isControl ? "" : character.toWellFormed()
      assert.strictEqual(shownText(`a${character}b`), `a${shown}b`)
    }
  })

  it("has no control characters for any input, and keeps text without tags and entities", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        assert.notMatch(shownText(text), /\p{Cc}/u)
        if (/^[!-%'-;=?-~]*$/.test(text)) assert.strictEqual(shownText(text), text)
      })
    )
  })
})

describe("rank", () => {
  const host = fc.constantFrom("a.com", "A.com", "b.co.uk", "localhost", "[::1]", "1.2.3.4")
  const url = fc
    .tuple(
      fc.constantFrom("http", "https", "HTTPS", "ftp", ""),
      host,
      fc.constantFrom("", ":80", ":443", ":8080"),
      fc.constantFrom("", "/", "/a", "/A", "/a/"),
      fc.constantFrom("", "?", "?q=1", "?utm_source=1", "?gclid=2&q=1", "?q=1&fbclid=3"),
      fc.constantFrom("", "#", "#x")
    )
    .map(([scheme, name, port, path, query, fragment]) => `${scheme}://${name}${port}${path}${query}${fragment}`)
  const rows = fc.array(
    fc.record({
      url: fc.oneof({ weight: 6, arbitrary: url }, fc.webUrl(), fc.string()),
      title: fc.string(),
      snippet: fc.string()
    }),
    { maxLength: 60 }
  )
  const num = fc.integer({ min: 1, max: 20 })

  it("numbers 1…n, at most num, in the engine's order, no two with one identity", () => {
    fc.assert(
      fc.property(rows, num, (input, limit) => {
        const results = rank(input, limit)
        assert.isAtMost(results.length, limit)
        assert.deepStrictEqual(
          results.map(({ position }) => position),
          results.map((_, index) => index + 1)
        )
        for (const [index, { url }] of results.entries())
          for (const later of results.slice(index + 1)) assert.isFalse(isSame(url, later.url), `${url} ${later.url}`)
        let from = 0
        for (const result of results) {
          const at = input.findIndex((candidate, index) => index >= from && candidate.url === result.url)
          assert.notStrictEqual(at, -1, `${result.url} is not in the input after the result before it`)
          from = at + 1
        }
        for (const result of results) assert.isTrue(Schema.is(OrganicResult)(result))
      })
    )
  })

  it("loses nothing: every absolute URL of the input has its identity in an answer that num did not cut", () => {
    fc.assert(
      fc.property(rows, (input) => {
        const results = rank(input, input.length + 1)
        for (const { url } of input.filter(({ url }) => ranked([url]).length === 1))
          assert.isTrue(
            results.some((result) => isSame(result.url, url)),
            url
          )
      })
    )
  })

  it("a smaller num is the beginning of the same answer, and ranking an answer again changes nothing", () => {
    fc.assert(
      fc.property(rows, num, (input, limit) => {
        const all = rank(input, 20)
        assert.deepStrictEqual(rank(input, limit), all.slice(0, limit))
        assert.deepStrictEqual(
          rank(all, 20).map((result) => result.url),
          all.map((result) => result.url)
        )
      })
    )
  })
})

describe("R12: limits of a result", () => {
  it("a row with a URL above 2,048 characters is dropped", () => {
    const longest = `https://a.test/${"x".repeat(maxUrlUnits - 15)}`
    assert.strictEqual(longest.length, 2_048)
    assert.deepStrictEqual(ranked([`${longest}x`, longest]), [longest])
  })

  it("titles and snippets are cut between code points", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 5_000 }), (text) => {
        const [result] = rank([row("https://a.test/", text, text)], 1)
        const whole = Array.from(plainText(text))
        assert.strictEqual(result?.title, whole.slice(0, maxTitleCodePoints).join("").trimEnd())
        assert.strictEqual(result?.snippet, whole.slice(0, maxSnippetCodePoints).join("").trimEnd())
        assert.isTrue(result?.title.isWellFormed())
      })
    )
    const [result] = rank([row("https://a.test/", "😀".repeat(2_000), "😀".repeat(2_000))], 1)
    assert.deepStrictEqual([result?.title, result?.snippet], ["😀".repeat(300), "😀".repeat(1_000)])
  })
})
