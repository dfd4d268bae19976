/** Broken and unusual HTTP: lengths, chunks, pipelines, lines. */

/** The request to be broken. */
export interface Target {
  readonly method: string
  readonly path: string
  /** Header lines with their line ends, without Content-Length and Transfer-Encoding. */
  readonly lines: string
  readonly body: string
}

export interface Framing {
  readonly name: string
  /** Sizes in bytes, each four times the one before. One size if nothing can grow. */
  readonly sizes: ReadonlyArray<number>
  readonly of: (target: Target, bytes: number) => string
  /** The number of requests; 1 if absent. */
  readonly requests?: (target: Target, bytes: number) => number
  /** Added to the CPU budget. */
  readonly extraMs?: (bytes: number) => number
  /** The connection may end without a response, because the client half-closes it or the request is incomplete. */
  readonly mayBeUnanswered?: true
  /** The client half-closes the connection after the last byte. */
  readonly ends?: true
}

const headSizes: ReadonlyArray<number> = [3_500, 14_000]
const bodySizes: ReadonlyArray<number> = [16_000, 64_000, 256_000]
const small: ReadonlyArray<number> = [1]

const close = "Connection: close\r\n"

const head = ({ lines, method, path }: Target, more: string): string =>
  `${method} ${path} HTTP/1.1\r\n${lines}${more}\r\n`

const lengthOf = (body: string): string => `Content-Length: ${Buffer.byteLength(body)}\r\n`

const whole = (target: Target, more = ""): string => head(target, lengthOf(target.body) + more) + target.body

const pieces = (bytes: number, piece: string): string => piece.repeat(Math.max(1, Math.floor(bytes / piece.length)))

/** A request with these headers instead of Content-Length. */
const withHeaders =
  (headers: (bytes: number) => string, body = (target: Target, _bytes: number): string => target.body) =>
  (target: Target, bytes: number): string =>
    head(target, headers(bytes) + close) + body(target, bytes)

/** A request with a chunked body. */
const chunked = (chunks: (bytes: number) => string) =>
  withHeaders(
    () => "Transfer-Encoding: chunked\r\n",
    (_, bytes) => chunks(bytes)
  )

const pipelined = (target: Target, bytes: number): number => Math.max(1, Math.floor(bytes / whole(target).length))

/** Text that replaces the target's request. */
const verbatim = (text: (bytes: number, target: Target) => string) => (target: Target, bytes: number) =>
  text(bytes, target)

const pipelines: ReadonlyArray<Framing> = [
  {
    name: "pipelined requests",
    sizes: headSizes,
    of: (target, bytes) => whole(target).repeat(pipelined(target, bytes) - 1) + whole(target, close),
    requests: pipelined
  },
  {
    name: "pipelined requests that are left",
    sizes: headSizes,
    of: (target, bytes) => whole(target).repeat(pipelined(target, bytes)),
    requests: pipelined,
    mayBeUnanswered: true,
    ends: true
  },
  {
    name: "a request behind garbage",
    sizes: headSizes,
    of: (target, bytes) => `${pieces(bytes, "garbage ")}\r\n\r\n${whole(target, close)}`
  },
  {
    name: "garbage behind a request",
    sizes: headSizes,
    of: (target, bytes) => whole(target) + pieces(bytes, "garbage\r\n")
  },
  { name: "empty lines", sizes: headSizes, of: (target, bytes) => pieces(bytes, "\r\n") + whole(target, close) }
]

const lengths: ReadonlyArray<Framing> = [
  {
    name: "a body longer than its Content-Length",
    sizes: bodySizes,
    of: withHeaders(
      () => "Content-Length: 1\r\n",
      (_, bytes) => pieces(bytes, "x")
    )
  },
  {
    name: "a body shorter than its Content-Length",
    sizes: small,
    of: withHeaders(() => "Content-Length: 1000\r\n"),
    mayBeUnanswered: true,
    ends: true
  },
  {
    name: "a long Content-Length",
    sizes: headSizes,
    of: withHeaders((bytes) => `Content-Length: ${pieces(bytes, "9")}\r\n`)
  },
  {
    name: "a padded Content-Length",
    sizes: headSizes,
    of: withHeaders((bytes) => `Content-Length: ${pieces(bytes, "0")}\r\n`)
  },
  { name: "a negative Content-Length", sizes: small, of: withHeaders(() => "Content-Length: -1\r\n") },
  { name: "two Content-Lengths", sizes: small, of: withHeaders(() => "Content-Length: 1\r\nContent-Length: 2\r\n") },
  {
    name: "a Content-Length beside chunks",
    sizes: small,
    of: withHeaders(
      () => "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      () => "0\r\n\r\n"
    )
  },
  {
    name: "many transfer codings",
    sizes: headSizes,
    of: withHeaders(
      (bytes) => `Transfer-Encoding: ${pieces(bytes, "gzip, ")}chunked\r\n`,
      () => "0\r\n\r\n"
    )
  },
  {
    name: "chunks that are not the last coding",
    sizes: small,
    of: withHeaders(() => "Transfer-Encoding: chunked, gzip\r\n")
  }
]

/** Node's parser calls JavaScript for each chunk, even for an ignored body: 4 µs per 6 bytes. */
const extraMsOfChunks = (bytes: number): number => (bytes / 6) * 0.005

const chunks: ReadonlyArray<Framing> = [
  { name: "chunks of one byte", sizes: bodySizes, of: chunked((bytes) => `${pieces(bytes, "1\r\n \r\n")}0\r\n\r\n`) },
  {
    name: "chunks with extensions",
    sizes: bodySizes,
    of: chunked((bytes) => `${pieces(bytes, `1;${"a=b;".repeat(50)}\r\n \r\n`)}0\r\n\r\n`)
  },
  {
    name: "a long chunk extension",
    sizes: bodySizes,
    of: chunked((bytes) => `1;${pieces(bytes, "a")}\r\n \r\n0\r\n\r\n`)
  },
  {
    name: "padded chunk sizes",
    sizes: bodySizes,
    of: chunked((bytes) => `${pieces(bytes, "0000000001\r\n \r\n")}0\r\n\r\n`)
  },
  { name: "a long chunk size", sizes: headSizes, of: chunked((bytes) => `${pieces(bytes, "f")}\r\n `) },
  { name: "a chunk size that is not a number", sizes: small, of: chunked(() => "zz\r\n \r\n") },
  { name: "many trailers", sizes: bodySizes, of: chunked((bytes) => `0\r\n${pieces(bytes, "a: b\r\n")}\r\n`) },
  {
    name: "a chunk longer than its size",
    sizes: bodySizes,
    of: chunked((bytes) => `1\r\n${pieces(bytes, "x")}\r\n0\r\n\r\n`)
  },
  {
    name: "chunks without an end",
    sizes: bodySizes,
    of: chunked((bytes) => pieces(bytes, "40\r\n                                                                \r\n")),
    mayBeUnanswered: true,
    ends: true
  }
]

const lines: ReadonlyArray<Framing> = [
  { name: "a long method", sizes: headSizes, of: verbatim((bytes) => `${pieces(bytes, "A")} / HTTP/1.1\r\n\r\n`) },
  { name: "bytes that are not text", sizes: headSizes, of: verbatim((bytes) => pieces(bytes, "\u0000\u00ff\u0080")) },
  {
    name: "a line that does not end",
    sizes: headSizes,
    of: verbatim((bytes) => `GET /${pieces(bytes, "a")}`),
    mayBeUnanswered: true,
    ends: true
  },
  { name: "folded headers", sizes: headSizes, of: withHeaders((bytes) => `a: b\r\n${pieces(bytes, " b\r\n")}`) },
  { name: "headers that end without a return", sizes: headSizes, of: withHeaders((bytes) => pieces(bytes, "a: b\n")) },
  { name: "headers without a colon", sizes: headSizes, of: withHeaders((bytes) => pieces(bytes, "ab\r\n")) },
  { name: "headers without a name", sizes: headSizes, of: withHeaders((bytes) => pieces(bytes, ": b\r\n")) },
  {
    name: "headers without a value",
    sizes: headSizes,
    of: withHeaders((bytes) => pieces(bytes, "a:\r\n")),
    mayBeUnanswered: true,
    ends: true
  },
  { name: "a NUL in a header", sizes: small, of: withHeaders(() => "a: \u0000\r\n") },
  { name: "many Host headers", sizes: headSizes, of: withHeaders((bytes) => pieces(bytes, "Host: a\r\n")) },
  {
    name: "a long Host",
    sizes: headSizes,
    of: verbatim((bytes) => `GET / HTTP/1.1\r\nHost: ${pieces(bytes, "a.")}\r\n${close}\r\n`)
  },
  { name: "no Host", sizes: small, of: verbatim(() => `GET / HTTP/1.1\r\n${close}\r\n`) },
  { name: "HTTP/0.9", sizes: small, of: verbatim(() => "GET /\r\n\r\n") },
  { name: "HTTP/1.0", sizes: small, of: verbatim(() => "GET / HTTP/1.0\r\n\r\n") },
  { name: "HTTP/9.9", sizes: small, of: verbatim(() => "GET / HTTP/9.9\r\n\r\n") },
  { name: "the preface of HTTP/2", sizes: small, of: verbatim(() => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") },
  {
    name: "the hello of TLS",
    sizes: headSizes,
    of: verbatim((bytes) => `\u0016\u0003\u0001\u0002\u0000\u0001${pieces(bytes, "\u0000")}`)
  },
  {
    name: "an upgrade",
    sizes: small,
    of: withHeaders(() => "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n")
  },
  {
    name: "an upgrade to HTTP/2",
    sizes: small,
    of: withHeaders(() => "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: a\r\n")
  },
  {
    name: "many upgrades",
    sizes: headSizes,
    of: withHeaders((bytes) => `Connection: upgrade\r\nUpgrade: ${pieces(bytes, "a, ")}b\r\n`)
  },
  {
    name: "Connection options",
    sizes: headSizes,
    of: withHeaders((bytes) => `Connection: ${pieces(bytes, "a, ")}b\r\n`)
  },
  { name: "an unknown expectation", sizes: headSizes, of: withHeaders((bytes) => `Expect: ${pieces(bytes, "a")}\r\n`) },
  {
    name: "a body that waits to be asked for",
    sizes: small,
    of: (target) => head(target, `Expect: 100-continue\r\n${lengthOf(target.body)}${close}`) + target.body
  },
  {
    name: "a tunnel",
    sizes: headSizes,
    of: verbatim((bytes) => `CONNECT ${pieces(bytes, "a")}:1 HTTP/1.1\r\nHost: a\r\n\r\n`)
  },
  {
    name: "an absolute target",
    sizes: headSizes,
    of: verbatim((bytes, { lines }) => `GET http://${pieces(bytes, "a")}/ HTTP/1.1\r\n${lines}${close}\r\n`)
  },
  {
    name: "a target of a star",
    sizes: small,
    of: verbatim((_, { lines }) => `OPTIONS * HTTP/1.1\r\n${lines}${close}\r\n`)
  }
]

export const framings: ReadonlyArray<Framing> = [
  ...pipelines,
  ...lengths,
  ...chunks.map((framing) => ({ ...framing, extraMs: extraMsOfChunks })),
  ...lines
]
