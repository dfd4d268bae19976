import type { Socket } from "node:net"
import { brotliCompressSync, constants, deflateRawSync, gzipSync } from "node:zlib"

/** Where bytes chosen by strangers enter, and the media type that Quarry expects there. */
export const places = {
  page: "text/html; charset=utf-8",
  robots: "text/plain",
  sitemap: "application/xml",
  pdf: "application/pdf",
  metadata: "application/json",
  provider: "application/json",
  reader: "application/json",
  webhook: "text/plain",
  crawl: "text/html; charset=utf-8"
} as const

export type Place = keyof typeof places

export const placeNames = Object.keys(places) as ReadonlyArray<Place> // The keys are exactly these.

const mebibyte = 1024 ** 2

/** A bomb unpacks to this many bytes. */
const bombMib = 900

/** A part unpacks to 9 MiB of spaces. Parts can be joined. */
const partMib = 9
const part = Buffer.alloc(partMib * mebibyte, " ")
const joined = (packed: Buffer): Buffer => Buffer.concat(Array<Buffer>(bombMib / partMib).fill(packed))

const once = (make: () => Buffer): (() => Buffer) => {
  let made: Buffer | undefined
  return () => (made ??= make())
}

const gzipBomb = once(() => joined(gzipSync(part)))
const deflateBomb = once(() => joined(deflateRawSync(part, { finishFlush: constants.Z_FULL_FLUSH })))
const brotliBomb = once(() =>
  brotliCompressSync(Buffer.alloc(bombMib * mebibyte, " "), { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
)

/** Brotli's takes seconds. */
export const makeBombs = (): void => void [gzipBomb(), deflateBomb(), brotliBomb()]

const pdf = (object: string): string => `%PDF-1.7
1 0 obj
<< /Type /Catalog /Pages 2 0 R >>
endobj
2 0 obj
<< /Type /Pages /Kids [3 0 R] /Count 1 >>
endobj
${object}
trailer
<< /Size 9 /Root 1 0 R >>
%%EOF`

const page = "3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents"

interface Documents {
  readonly deep: () => string
  readonly wide: () => string
  readonly long: () => string
}

const html: Documents = {
  deep: () => "<div>".repeat(400_000),
  /** Almost as many elements and attributes as a document may have. */
  wide: () => `<table>${"<tr class=a id=b><td class=a id=b>a<td class=a id=b rel=c>b".repeat(33_200)}`,
  long: () => `<p><a href="/${"a".repeat(2_400_000)}">${"b".repeat(2_400_000)}</a>`
}

const json: Documents = {
  deep: () => "[".repeat(1_000_000),
  wide: () => `{"results":[${'{"url":""},'.repeat(90_000)}{}]}`,
  long: () => `{"results":[{"url":"http://example.test/${"a".repeat(900_000)}"}]}`
}

const documents: { readonly [P in Place]: Documents } = {
  page: html,
  crawl: html,
  robots: {
    deep: () => `user-agent: *\ndisallow: /${"*a".repeat(240_000)}`,
    wide: () => `user-agent: *\n${"disallow: /*a*b*c*d$\n".repeat(24_000)}`,
    long: () => `user-agent: *\r${"\r".repeat(490_000)}disallow: /a`
  },
  sitemap: {
    deep: () => `<urlset>${"<a>".repeat(2_000_000)}`,
    wide: () => `<urlset>${"<url><loc>http://127.0.0.1/a</loc></url>".repeat(1_000_000)}</urlset>`,
    long: () => `<urlset><url><loc>http://127.0.0.1/${"a".repeat(45_000_000)}</loc></url></urlset>`
  },
  pdf: {
    deep: () => pdf(`${page} ${"[".repeat(2_000_000)} >>\nendobj`),
    wide: () => pdf(`${page} [${"4 0 R ".repeat(600_000)}] >>\nendobj`),
    long: () =>
      pdf(`${page} 4 0 R >>\nendobj\n4 0 obj\n<< /Length 4000000 >>\nstream\n${"BT(a)Tj ET ".repeat(350_000)}`)
  },
  metadata: json,
  provider: json,
  reader: json,
  webhook: json
}

const ok = (place: Place): string => `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: ${places[place]}\r\n`

const send = (socket: Socket, head: string, body: Buffer | string): void => {
  const bytes = Buffer.from(body)
  socket.write(`${head}Content-Length: ${bytes.length}\r\n\r\n`)
  socket.end(bytes)
}

type Answer = (socket: Socket, place: Place) => void

/** A sitemap may also be a gzip file, whatever coding its response has. */
const bomb =
  (coding: string, make: () => Buffer): Answer =>
  (socket, place) =>
    send(
      socket,
      place === "sitemap" && coding === "gzip" ? ok(place) : `${ok(place)}Content-Encoding: ${coding}\r\n`,
      make()
    )

const document =
  (kind: keyof Documents): Answer =>
  (socket, place) =>
    send(socket, ok(place), documents[place][kind]())

/** Repeats `piece` as fast as the client reads, up to `count` times. */
const flood = (socket: Socket, piece: string, count: number): void => {
  const perWrite = Math.ceil(65_536 / piece.length)
  const block = Buffer.from(piece.repeat(perWrite))
  let left = count
  const write = (): void => {
    while (left > 0 && !socket.destroyed) {
      left -= perWrite
      if (!socket.write(block)) return
    }
    if (left <= 0) socket.end()
  }
  socket.on("drain", write)
  write()
}

const drip = (socket: Socket, everyMs: number): void => {
  const timer = setInterval(() => socket.write(" "), everyMs)
  socket.on("close", () => clearInterval(timer))
}

const after =
  (head: string, then: (socket: Socket) => void): Answer =>
  (socket, place) => {
    socket.write(`${ok(place)}${head}\r\n`)
    then(socket)
  }

/** What a stranger's server can do with the body of a response. */
export const bodies = {
  "gzip bomb": bomb("gzip", gzipBomb),
  "deflate bomb": bomb("deflate", deflateBomb),
  "br bomb": bomb("br", brotliBomb),
  endless: after("", (socket) => flood(socket, " ", Number.POSITIVE_INFINITY)),
  "a byte a second": after("", (socket) => drip(socket, 1_000)),
  stalled: after("Content-Length: 1000\r\n", (socket) => socket.write("<")),
  cut: after("Content-Length: 1000000\r\n", (socket) =>
    socket.write("<p>a".repeat(1_000), () => setTimeout(() => socket.destroy(), 50))
  ),
  "small pieces": after("Transfer-Encoding: chunked\r\n", (socket) => flood(socket, "1\r\na\r\n", 1_000_000)),
  "wrong length": after("Content-Length: 10\r\n", (socket) => flood(socket, "<p>a", 1_000_000)),
  deep: document("deep"),
  wide: document("wide"),
  long: document("long")
} as const satisfies Readonly<Record<string, Answer>>

export type BodyName = keyof typeof bodies

export const bodyNames = Object.keys(bodies) as ReadonlyArray<BodyName> // The keys are exactly these.
