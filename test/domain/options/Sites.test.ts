import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { makeAdmits, type SearchOptions } from "../../../src/domain/options/SearchOptions.ts"
import { makeSiteFilter, parseSite } from "../../../src/domain/options/Sites.ts"
import { rank } from "../../../src/domain/search/Organic.ts"

const row = (url: string) => ({ url, title: "t", snippet: "" })

const admitted = (options: SearchOptions, urls: ReadonlyArray<string>) =>
  rank(urls.map(row), 100, makeAdmits(options)).map(({ url }) => url)

const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
const domain = fc
  .tuple(label, fc.constantFrom("org", "com", "co.uk", "xn--p1ai"))
  .map(([name, end]) => `${name}.${end}`)

/** Every way to write an address of a domain, or of one of its subdomains, that a URL parser reads as such. */
const addressOf = (host: string) =>
  fc
    .record({
      scheme: fc.constantFrom("http://", "https://", "HTTPS://", "Http://"),
      credentials: fc.constantFrom("", "user@", "user:pass@", "other.test:x@"),
      sub: fc.constantFrom("", "www.", "docs.", "a.b.c."),
      upper: fc.boolean(),
      dot: fc.constantFrom("", "."),
      port: fc.constantFrom("", ":80", ":443", ":8080"),
      path: fc.constantFrom("", "/", "/guide", "/a/b?x=1", "/#top", "?q=other.test")
    })
    .map(({ credentials, dot, path, port, scheme, sub, upper }) => {
      const name = `${sub}${host}${dot}`
      return `${scheme}${credentials}${upper ? name.toUpperCase() : name}${port}${path}`
    })

const anyForm = (host: string) =>
  fc.constantFrom(
    host,
    host.toUpperCase(),
    `www.${host}`,
    `WWW.${host}`,
    `https://${host}`,
    `*.${host}`,
    `${host}.`,
    ` ${host} `
  )

describe("parseSite", () => {
  it.each([
    ["example.org", "example.org"],
    ["EXAMPLE.org", "example.org"],
    ["www.example.org", "example.org"],
    ["https://docs.example.org/Guide/", "docs.example.org/guide"],
    ["*.example.org", "example.org"],
    [".example.org", "example.org"],
    ["example.org.", "example.org"],
    ["münchen.de", "xn--mnchen-3ya.de"],
    ["example.org/a//b/../c", "example.org/a/c"],
    ["edu", "edu"],
    ["www.com", "www.com"]
  ])("reads %s as %s", (text, site) => {
    assert.strictEqual(parseSite(text), site)
  })

  it.each([
    "",
    " ",
    "/",
    "exa mple.org",
    "example.org:8080",
    "user@example.org",
    "example.org?x",
    "example.org#x",
    "[::1]",
    "a,b",
    "ex*mple.org",
    "-",
    "\0",
    "\ud800",
    "ftp://example.org",
    "a".repeat(600)
  ])("does not take %j for a domain", (text) => {
    assert.isUndefined(parseSite(text))
  })

  it("returns a form that it reads as itself", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const site = parseSite(text)
        if (site !== undefined) assert.strictEqual(parseSite(site), site)
      })
    )
  })
})

describe("the domains of a search", () => {
  it("R62: no result from an excluded domain is returned, however its address is written", () => {
    fc.assert(
      fc.property(
        domain.chain((host) => fc.tuple(fc.array(addressOf(host), { minLength: 1 }), anyForm(host))),
        ([urls, excluded]) => {
          assert.deepStrictEqual(admitted({ excludeDomains: [parseSite(excluded) ?? ""] }, urls), [])
        }
      )
    )
  })

  it("R62: every result is from an included domain, and those are kept", () => {
    fc.assert(
      fc.property(
        fc
          .tuple(domain, domain)
          .filter(([a, b]) => !a.endsWith(b) && !b.endsWith(a))
          .chain(([host, other]) => fc.tuple(addressOf(host), addressOf(other), anyForm(host))),
        ([own, other, included]) => {
          assert.deepStrictEqual(admitted({ includeDomains: [parseSite(included) ?? ""] }, [other, own]), [own])
        }
      )
    )
  })

  it.each([
    "https://example.org.evil.test/",
    "https://example.org@evil.test/",
    "https://notexample.org/",
    "https://evil.test/example.org",
    "https://evil.test/?example.org",
    "https://evil.test/#example.org",
    "https://evil.test\\@example.org/"
  ])("%s is not of example.org", (url) => {
    assert.deepStrictEqual(admitted({ includeDomains: ["example.org"] }, [url]), [])
  })

  it("a name in another script is its ASCII form", () => {
    const urls = ["https://xn--mnchen-3ya.de/", "https://MÜNCHEN.de/", "https://münchen.de/"]
    assert.deepStrictEqual(admitted({ excludeDomains: [parseSite("München.de") ?? ""] }, urls), [])
  })

  it("a path matches itself and what is below it, however it is written", () => {
    const below = ["/guide", "/guide/", "/guide/a", "/Guide/a", "//guide/a", "/%67uide/a", "/x/../guide"]
    const other = ["/", "/guidelines", "/a/guide", "/guide.html"]
    const urls = [...below, ...other].map((path) => `https://docs.example.org${path}`)
    const isOf = makeSiteFilter({ includeDomains: ["docs.example.org/guide"] }) ?? assert.fail("no filter")
    assert.deepStrictEqual(
      urls.map((url) => isOf(new URL(url))),
      [...below.map(() => true), ...other.map(() => false)]
    )
  })

  it("nothing that an engine sends is an exception", () => {
    const admits = makeAdmits({ includeDomains: ["example.org/guide"], excludeDomains: ["a.example.org"] })
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true }), (url) => assert.isArray(rank([row(url)], 1, admits)))
    )
    fc.assert(fc.property(fc.string(), (url) => assert.isArray(rank([row(`https://${url}`)], 1, admits))))
  })
})
