import { createServer, type RequestListener } from "node:http"
import { createServer as createTcpServer } from "node:net"
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Result } from "effect"
import { parseAddress } from "../../../src/domain/net/address.ts"
import { maxPageBytes } from "../../../src/domain/pages/Page.ts"
import * as PageFetcherNode from "../../../src/layers/pages/PageFetcherNode.ts"
import { PageFetcher } from "../../../src/services/pages/PageFetcher.ts"

interface Seen {
  readonly url: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
}

/** A site on the loopback, with the requests that it got. */
const site = (answer: RequestListener, host = "127.0.0.1", port = 0) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly seen: Array<Seen>; readonly close: () => void }>((resume) => {
      const seen: Array<Seen> = []
      const server = createServer((request, response) => {
        seen.push({ url: request.url ?? "", headers: request.headers })
        answer(request, response)
      })
      server.listen(port, host, () => {
        const address = server.address()
        const bound = typeof address === "object" && address !== null ? address.port : assert.fail("no port")
        const close = () => {
          server.closeAllConnections()
          server.close()
        }
        resume(Effect.succeed({ port: bound, seen, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

type Pages = Readonly<Record<string, RequestListener>>

/** Answers by path. Anything else, robots.txt too, is 404. */
const byPath =
  (pages: Pages): RequestListener =>
  (request, response) => {
    const page = pages[request.url ?? ""]
    if (page === undefined) response.writeHead(404).end()
    else page(request, response)
  }

const html =
  (text = "hello", headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    response.writeHead(200, { "content-type": "text/html", ...headers }).end(text)

const to =
  (location: string, status = 302): RequestListener =>
  (_, response) =>
    response.writeHead(status, { location }).end()

type Options = Partial<PageFetcherNode.PageFetcherOptions>

const make = (options: Options) =>
  PageFetcherNode.layer({
    userAgent: "Quarry/test (+http://quarry.test)",
    obeysRobots: true,
    allowsPrivate: true,
    ...options
  })

const fetch = (url: string, timeout: Duration.Input = "10 seconds") =>
  Effect.flatMap(PageFetcher, (fetcher) =>
    Effect.result(fetcher.fetch(new URL(url), "acc_1", Duration.fromInputUnsafe(timeout)))
  )

/** The text of the page, or the reason why there is none with the site's status. */
const outcome = (url: string, options: Options = {}, timeout: Duration.Input = "10 seconds") =>
  fetch(url, timeout).pipe(
    Effect.provide(make(options)),
    Effect.map((result) =>
      Result.isSuccess(result)
        ? Buffer.from(result.success.bytes).toString()
        : [result.failure.reason, result.failure.httpStatus]
    )
  )

/** Every spelling of addresses that lead to this machine or to networks that strangers may not reach. */
const forbiddenHosts = [
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "0x7f.0.0.1",
  "0x7f000001",
  "0x7f.1",
  "2130706433",
  "017700000001",
  "0177.0.0.1",
  "0177.1",
  "127.0.0.1.",
  "127.255.255.254",
  "127.0.0.2",
  "0",
  "0.0.0.0",
  "0x0",
  "00",
  "0.0",
  "①②⑦.⓪.⓪.①",
  "127。0。0。1",
  "%31%32%37.0.0.1",
  "10.0.0.1",
  "10.1",
  "0xa.0.0.1",
  "167772161",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.0.1",
  "192.168.1",
  "0xc0a80001",
  "3232235521",
  "169.254.169.254",
  "0xa9fea9fe",
  "2852039166",
  "0251.0376.0251.0376",
  "169.254.43518",
  "100.64.0.1",
  "100.100.100.200",
  "192.0.0.192",
  "198.18.0.1",
  "192.0.2.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "239.255.255.250",
  "240.0.0.1",
  "255.255.255.255",
  "168.63.129.16",
  "0xa83f8110",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::]",
  "[::127.0.0.1]",
  "[::7f00:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:7f00:0001]",
  "[::ffff:0:127.0.0.1]",
  "[::ffff:10.0.0.1]",
  "[::ffff:169.254.169.254]",
  "[::ffff:8.8.8.8]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b:1::a00:1]",
  "[2002:7f00:1::]",
  "[2002:a00:1::1]",
  "[2001:0:7f00:1::]",
  "[2001::1]",
  "[fe80::1]",
  "[fec0::1]",
  "[fc00::1]",
  "[fd00:ec2::254]",
  "[fd20:ce::254]",
  "[ff02::1]",
  "[ff0e::1]",
  "[2001:db8::1]",
  "[3fff::1]",
  "[100::1]",
  "[5f00::1]",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "www.localhost",
  "loopback.test",
  "v6.test",
  "mapped.test",
  "mixed.test",
  "metadata.test",
  "wire.test",
  "trailing.test."
] as const

const names: Readonly<Record<string, ReadonlyArray<string>>> = {
  "loopback.test": ["127.0.0.1"],
  "v6.test": ["::1"],
  "mapped.test": ["::ffff:127.0.0.1"],
  // One closed address among open ones is enough.
  "mixed.test": ["93.184.216.34", "10.0.0.1"],
  "metadata.test": ["169.254.169.254"],
  "wire.test": ["168.63.129.16"],
  "trailing.test.": ["127.0.0.1"]
}

const resolve = async (host: string) => names[host] ?? []

/** Addresses that cannot be of a page: they never reach the fetcher. */
const malformed = [
  "http://127.0.0.1%00.example/",
  "http://[::1%25lo]/",
  "http://256.256.256.256/",
  "http://0x7g.1/",
  "http:///"
]

describe("PageFetcherNode", () => {
  it.live("R59: a redirect in raw bytes is followed as browsers follow it", () =>
    Effect.gen(function* () {
      const raw = (location: string): RequestListener => to(Buffer.from(location).toString("latin1"))
      const { port, seen } = yield* site(
        byPath({
          "/utf8": raw("/café?q=münchen"),
          "/latin1": to("/caf\xe9"),
          "/caf%C3%A9?q=m%C3%BCnchen": html("utf-8"),
          "/caf%E9": html("latin-1")
        })
      )
      assert.strictEqual(yield* outcome(`http://127.0.0.1:${port}/utf8`), "utf-8")
      assert.strictEqual(yield* outcome(`http://127.0.0.1:${port}/latin1`), "latin-1")
      assert.include(
        seen.map(({ url }) => url),
        "/caf%C3%A9?q=m%C3%BCnchen"
      )
    }).pipe(Effect.scoped)
  )

  it.live("R59: a file without a telling type is left to the parser, and other types are refused unread", () =>
    Effect.gen(function* () {
      const typed = (type: string) => html("%PDF-1.7", { "content-type": type })
      const { port } = yield* site(
        byPath({
          "/octets": typed("application/octet-stream"),
          "/download": typed("application/force-download"),
          "/zip": typed("application/zip")
        })
      )
      assert.strictEqual(yield* outcome(`http://127.0.0.1:${port}/octets`), "%PDF-1.7")
      assert.strictEqual(yield* outcome(`http://127.0.0.1:${port}/download`), "%PDF-1.7")
      assert.deepStrictEqual(yield* outcome(`http://127.0.0.1:${port}/zip`), ["unsupported_media_type", 200])
    }).pipe(Effect.scoped)
  )

  it.live("R84: a file may have any type and size that the caller asks for, and each X-Robots-Tag is kept", () =>
    Effect.gen(function* () {
      const large = "x".repeat(maxPageBytes + 1)
      const { port } = yield* site(
        byPath({
          "/map.xml.gz": (_, response) =>
            response
              .writeHead(200, [
                ["content-type", "application/gzip"],
                ["x-robots-tag", "googlebot: nofollow"],
                ["x-robots-tag", "noindex"]
              ])
              .end(large)
        })
      )
      const file = yield* Effect.flatMap(PageFetcher, (fetcher) =>
        fetcher.fetch(new URL(`http://127.0.0.1:${port}/map.xml.gz`), "acc_1", Duration.seconds(10), {
          maxFileBytes: 2 * maxPageBytes
        })
      ).pipe(Effect.provide(make({})))
      assert.strictEqual(file.bytes.length, large.length)
      assert.deepStrictEqual(file.robotsTags, ["googlebot: nofollow", "noindex"])
    }).pipe(Effect.scoped)
  )

  it.live("R59: no form of a forbidden address is fetched, and a listener on every local address hears nothing", () =>
    Effect.gen(function* () {
      const listener = yield* site(html(), "::")
      const fetcher = make({
        allowsPrivate: false,
        ports: new Set([String(listener.port)]),
        resolve,
        obeysRobots: true
      })
      assert.isAtLeast(forbiddenHosts.length + malformed.length, 80)
      yield* Effect.gen(function* () {
        for (const host of forbiddenHosts) {
          const result = yield* fetch(`http://${host}:${listener.port}/`)
          assert.strictEqual(Result.isFailure(result) ? result.failure.reason : "fetched", "address_not_allowed", host)
        }
      }).pipe(Effect.provide(fetcher))
      for (const address of malformed) assert.isNull(parseAddress(address), address)
      assert.deepStrictEqual(listener.seen, [])
    })
  )

  it.live("R59: only ports 80 and 443 are allowed, unless private addresses are", () =>
    Effect.gen(function* () {
      const listener = yield* site(byPath({ "/": html() }))
      const isPublic = () => true
      const url = `http://127.0.0.1:${listener.port}/`
      assert.deepStrictEqual(yield* outcome(url, { allowsPrivate: false, isPublic }), [
        "address_not_allowed",
        undefined
      ])
      assert.deepStrictEqual(listener.seen, [])
      assert.strictEqual(yield* outcome(url), "hello")
    })
  )

  it.live("R60: a name is resolved once, so that an address that changes after its check is not connected to", () =>
    Effect.gen(function* () {
      const good = yield* site(byPath({ "/": html("good") }))
      const bad = yield* site(html("bad"), "127.0.0.2", good.port)
      let asked = 0
      const rebinding = {
        allowsPrivate: false,
        ports: new Set([String(good.port)]),
        isPublic: (address: string) => address === "127.0.0.1",
        resolve: async () => [++asked % 2 === 1 ? "127.0.0.1" : "127.0.0.2"],
        obeysRobots: false
      }
      const url = `http://rebind.test:${good.port}/`
      assert.strictEqual(yield* outcome(url, rebinding), "good")
      assert.deepStrictEqual(yield* outcome(url, rebinding), ["address_not_allowed", undefined])
      assert.strictEqual(asked, 2)
      assert.deepStrictEqual(bad.seen, [])
    })
  )

  it.live(
    "R59: a redirect to a forbidden address is not followed, at any hop, for a page and for its robots.txt",
    () =>
      Effect.gen(function* () {
        const pages: Record<string, RequestListener> = {}
        const open = yield* site((request, response) => byPath(pages)(request, response))
        const closed = yield* site(html("secret"), "127.0.0.2", open.port)
        const options = {
          allowsPrivate: false,
          ports: new Set([String(open.port), ""]),
          isPublic: (address: string) => address === "127.0.0.1",
          resolve: async () => ["127.0.0.1"]
        }
        const base = `http://site.test:${open.port}`
        for (const target of [
          `http://127.0.0.2:${open.port}/`,
          "http://169.254.169.254/latest/meta-data/",
          `http://127.0.0.1:${open.port + 1}/`,
          `//127.0.0.2:${open.port}/`,
          `http://[::ffff:7f00:2]:${open.port}/`
        ]) {
          for (let hop = 0; hop < 5; hop++) {
            for (let at = 0; at < hop; at++) pages[`/${at}`] = to(`/${at + 1}`)
            pages[`/${hop}`] = to(target)
            assert.deepStrictEqual(
              yield* outcome(`${base}/0`, options),
              ["address_not_allowed", undefined],
              `${target} ${hop}`
            )
          }
          pages["/page"] = html()
          pages["/robots.txt"] = to(target)
          assert.deepStrictEqual(yield* outcome(`${base}/page`, options), ["address_not_allowed", undefined], target)
          delete pages["/robots.txt"]
        }
        assert.deepStrictEqual(closed.seen, [])
      }),
    30_000
  )

  it.live("R59: statuses become reasons, and the site's status is reported", () =>
    Effect.gen(function* () {
      const { port } = yield* site((request, response) =>
        response.writeHead(request.url === "/robots.txt" ? 404 : Number(request.url?.slice(1))).end()
      )
      const reasons = {
        not_found: [404, 410],
        forbidden: [401, 402, 403, 407, 451, 429],
        site_error: [400, 405, 418, 500, 502, 503, 301, 302, 304, 305]
      }
      yield* Effect.gen(function* () {
        for (const [reason, statuses] of Object.entries(reasons)) {
          for (const status of statuses) {
            const result = yield* fetch(`http://127.0.0.1:${port}/${status}`)
            if (Result.isSuccess(result)) return assert.fail(String(status))
            assert.deepStrictEqual([result.failure.reason, result.failure.httpStatus], [reason, status])
          }
        }
      }).pipe(Effect.provide(make({})))
    })
  )

  it.live("R59: five redirects are followed, six and a loop are not", () =>
    Effect.gen(function* () {
      const chain = Object.fromEntries(
        Array.from({ length: 6 }, (_, index) => [
          `/${index}`,
          to(`/${index + 1}`, [301, 302, 303, 307, 308][index % 5])
        ])
      )
      const { port } = yield* site(byPath({ ...chain, "/6": html("end"), "/loop": to("/back"), "/back": to("/loop") }))
      const base = `http://127.0.0.1:${port}`
      assert.strictEqual(yield* outcome(`${base}/1`), "end")
      assert.deepStrictEqual(yield* outcome(`${base}/0`), ["too_many_redirects", 301])
      assert.deepStrictEqual(yield* outcome(`${base}/loop`), ["too_many_redirects", 302])
    })
  )

  it.live("R59: a host that is not there, refuses, resets or does not speak HTTP is unreachable", () =>
    Effect.gen(function* () {
      const noise = createTcpServer((socket) => void socket.on("error", () => undefined).end("220 mail ESMTP\r\n"))
      yield* Effect.promise(() => new Promise<void>((done) => noise.listen(0, "127.0.0.1", () => done())))
      const address = noise.address()
      const port = typeof address === "object" ? address?.port : undefined
      const options = { resolve: async () => [] }
      for (const url of [
        "http://nowhere.test/",
        "http://127.0.0.1:1/",
        `http://127.0.0.1:${port}/`,
        `https://127.0.0.1:${port}/`
      ]) {
        assert.deepStrictEqual(yield* outcome(url, options), ["unreachable", undefined], url)
      }
      noise.close()
    })
  )

  it.live("R59: a site that is silent or drips is timed out as a whole, with its status if it sent one", () =>
    Effect.gen(function* () {
      const drip: RequestListener = (_, response) => {
        response.writeHead(200, { "content-type": "text/html" })
        const timer = setInterval(() => response.write(" "), 20)
        response.on("close", () => clearInterval(timer))
      }
      const slowRobots = yield* site((request, response) => {
        if (request.url !== "/robots.txt") response.end("page")
      })
      const { port } = yield* site(byPath({ "/silent": () => undefined, "/drip": drip }))
      const base = `http://127.0.0.1:${port}`
      assert.deepStrictEqual(yield* outcome(`${base}/silent`, {}, "300 millis"), ["timed_out", undefined])
      assert.deepStrictEqual(yield* outcome(`${base}/drip`, {}, "300 millis"), ["timed_out", 200])
      const robots = `http://127.0.0.1:${slowRobots.port}/`
      assert.deepStrictEqual(yield* outcome(robots, {}, "300 millis"), ["timed_out", undefined])
    })
  )

  it.live(
    "R60: gzip, deflate in both forms and br are decompressed, and 5 MiB is the limit on both sides",
    () =>
      Effect.gen(function* () {
        const text = "ä".repeat(10_000)
        const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024))
        const coded =
          (body: Buffer, coding: string): RequestListener =>
          (_, response) =>
            response.writeHead(200, { "content-type": "text/html", "content-encoding": coding }).end(body)
        const whole = Buffer.alloc(maxPageBytes, "a")
        const { port } = yield* site(
          byPath({
            "/gzip": coded(gzipSync(text), "gzip"),
            "/deflate": coded(deflateSync(text), "deflate"),
            "/raw": coded(deflateRawSync(text), "deflate"),
            "/br": coded(brotliCompressSync(text), "br"),
            "/empty": coded(Buffer.alloc(0), "deflate"),
            "/bomb": coded(bomb, "gzip"),
            "/brbomb": coded(brotliCompressSync(Buffer.alloc(20 * 1024 * 1024)), "br"),
            "/broken": coded(Buffer.from("no gzip"), "gzip"),
            "/cut": coded(gzipSync(text).subarray(0, 50), "gzip"),
            "/zebra": coded(Buffer.from(text), "zebra"),
            "/most": html(whole.toString()),
            "/more": html(`${whole}a`),
            "/image": html("x", { "content-type": "image/png" })
          })
        )
        const base = `http://127.0.0.1:${port}`
        for (const path of ["/gzip", "/deflate", "/raw", "/br"])
          assert.strictEqual(yield* outcome(base + path), text, path)
        assert.strictEqual(yield* outcome(`${base}/empty`), "")
        assert.lengthOf(yield* outcome(`${base}/most`), maxPageBytes)
        for (const path of ["/bomb", "/brbomb", "/more"]) {
          assert.deepStrictEqual(yield* outcome(base + path), ["too_large", 200], path)
        }
        for (const path of ["/broken", "/cut"])
          assert.deepStrictEqual(yield* outcome(base + path), ["unreachable", 200], path)
        for (const path of ["/zebra", "/image"]) {
          assert.deepStrictEqual(yield* outcome(base + path), ["unsupported_media_type", 200], path)
        }
      }),
    30_000
  )

  it.live("R60: robots.txt is obeyed at every hop, read once, and ignored if the operator says so", () =>
    Effect.gen(function* () {
      const robots: RequestListener = (_, response) => response.end("User-agent: Quarry\nDisallow: /closed\n")
      const { port, seen } = yield* site(
        byPath({ "/robots.txt": robots, "/closed": html("closed"), "/open": html("open"), "/turn": to("/closed") })
      )
      const base = `http://127.0.0.1:${port}`
      yield* Effect.gen(function* () {
        const results = yield* Effect.forEach(["/closed", "/turn", "/open"], (path) => fetch(base + path), {
          concurrency: 3
        })
        const reasons = results.map((result) => (Result.isFailure(result) ? result.failure.reason : "ok"))
        assert.deepStrictEqual(reasons, ["robots_disallowed", "robots_disallowed", "ok"])
      }).pipe(Effect.provide(make({})))
      assert.lengthOf(
        seen.filter(({ url }) => url === "/robots.txt"),
        1
      )
      assert.lengthOf(
        seen.filter(({ url }) => url === "/closed"),
        0
      )
      assert.strictEqual(yield* outcome(`${base}/closed`, { obeysRobots: false }), "closed")
    })
  )

  it.live(
    "R59: a robots.txt with an error disallows, a missing one allows, and one without a host is unreachable",
    () =>
      Effect.gen(function* () {
        for (const [status, expected] of [
          [503, ["robots_disallowed", undefined]],
          [404, "hello"],
          [403, "hello"],
          [204, "hello"]
        ] as const) {
          const { port } = yield* site((request, response) =>
            request.url === "/robots.txt" ? response.writeHead(status).end() : html()(request, response)
          )
          assert.deepStrictEqual(yield* outcome(`http://127.0.0.1:${port}/`), expected as never, String(status))
        }
      })
  )

  it.live("R60: a request names Quarry and carries no cookie, credential or Referer, also after a redirect", () =>
    Effect.gen(function* () {
      const pages: Record<string, RequestListener> = {}
      const { port, seen } = yield* site((request, response) => byPath(pages)(request, response))
      pages["/a"] = (_, response) =>
        response.writeHead(302, { location: `http://user:word@127.0.0.1:${port}/b#c`, "set-cookie": "a=b" }).end()
      pages["/b"] = html()
      const result = yield* Effect.provide(fetch(`http://127.0.0.1:${port}/a`), make({}))
      assert.strictEqual(Result.getOrThrow(result).finalUrl, `http://127.0.0.1:${port}/b`)
      for (const { headers } of seen) {
        assert.strictEqual(headers["user-agent"], "Quarry/test (+http://quarry.test)")
        for (const name of ["cookie", "authorization", "referer"]) assert.notProperty(headers, name)
      }
    })
  )

  it.live(
    "R60: a host gets at most four requests at the same time and ten a second",
    () =>
      Effect.gen(function* () {
        let running = 0
        let most = 0
        const starts: Array<number> = []
        const { port } = yield* site((_, response) => {
          starts.push(performance.now())
          most = Math.max(most, ++running)
          setTimeout(() => {
            running--
            response.writeHead(200, { "content-type": "text/html" }).end("x")
          }, 50)
        })
        const fetchAll = Effect.forEach(
          Array.from({ length: 24 }, (_, index) => index),
          (index) => fetch(`http://127.0.0.1:${port}/${index}`),
          { concurrency: "unbounded" }
        )
        yield* Effect.provide(fetchAll, make({ obeysRobots: false }))
        assert.strictEqual(most, 4)
        // Without the limit it would be 300 ms.
        assert.isAbove((starts.at(-1) ?? 0) - (starts[0] ?? 0), 1_500)
      }),
    20_000
  )

  it.live("R83: one account fetches 16 pages at once, and another account's page is fetched meanwhile", () =>
    Effect.gen(function* () {
      const silent = yield* site(() => undefined, "0.0.0.0")
      const { port } = yield* site(html("theirs"), "127.0.0.250")
      const { fetch } = yield* PageFetcher
      const addresses = Array.from({ length: 70 }, (_, n) => new URL(`http://127.0.0.${n + 1}:${silent.port}/`))
      const waiting = yield* Effect.forkChild(
        Effect.forEach(addresses, (url) => Effect.result(fetch(url, "hostile", Duration.seconds(60))), {
          concurrency: "unbounded"
        })
      )
      while (silent.seen.length < 16) yield* Effect.sleep(5)
      const theirs = yield* fetch(new URL(`http://127.0.0.250:${port}/`), "paying", Duration.seconds(5))
      assert.strictEqual(Buffer.from(theirs.bytes).toString(), "theirs")
      assert.strictEqual(silent.seen.length, 16)
      yield* Fiber.interrupt(waiting)
    }).pipe(Effect.provide(make({ obeysRobots: false })))
  )

  it.live("R60: who leaves closes the connection", () =>
    Effect.gen(function* () {
      let isClosed = false
      const { port, seen } = yield* site((request) => {
        request.on("close", () => {
          isClosed = true
        })
      })
      const fiber = yield* Effect.forkChild(outcome(`http://127.0.0.1:${port}/`, { obeysRobots: false }))
      while (seen.length === 0) yield* Effect.sleep(5)
      yield* Fiber.interrupt(fiber)
      while (!isClosed) yield* Effect.sleep(5)
    })
  )
})
