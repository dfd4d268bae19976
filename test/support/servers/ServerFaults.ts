import type { Socket } from "node:net"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"

/**
 * Faulty servers, for testing every client of this service. A fault is a script for a connection. It runs in a separate
 * thread (`faultThread.ts`), so that its work does not count as the client's.
 */
export interface Fault {
  readonly name: string
  /** True if the server sends a complete head of a final response, which a client may accept. */
  readonly hasHead: boolean
  /** How the server keeps the client busy, if it does: by sending as fast as possible, occasionally, or nothing. */
  readonly endless?: "flood" | "drip" | "silence"
  readonly act: (socket: Socket) => void
}

const dripMs = 20
const kibibyte = 1024

const reset = (socket: Socket): void => {
  socket.resetAndDestroy()
}

/** Sends the text, and resets the connection once the system has accepted it. */
const sayAndReset =
  (text: string) =>
  (socket: Socket): void => {
    socket.write(text, () => setTimeout(() => reset(socket), dripMs))
  }

const sayAndEnd =
  (text: string | Buffer) =>
  (socket: Socket): void => {
    socket.end(text)
  }

/** Sends the text and keeps the connection open. */
const sayAndHang =
  (text: string) =>
  (socket: Socket): void => {
    socket.write(text)
  }

/** Sends `first`, then repeats `more` as fast as the client reads. */
const flood =
  (first: string, more: string | Buffer) =>
  (socket: Socket): void => {
    const unit = Buffer.from(more)
    const block = Buffer.concat(Array<Buffer>(Math.ceil((64 * kibibyte) / unit.length)).fill(unit))
    const write = (): void => {
      while (socket.writable && socket.write(block));
    }
    socket.write(first)
    socket.on("drain", write)
    write()
  }

/** Sends `first`, then `more` occasionally, so that no silence lasts long. */
const drip =
  (first: string, more: string) =>
  (socket: Socket): void => {
    socket.write(first)
    const timer = setInterval(() => socket.write(more), dripMs)
    socket.on("close", () => clearInterval(timer))
  }

const ok = "HTTP/1.1 200 OK\r\n"
const json = `${ok}Content-Type: application/json\r\n`
const chunked = `${json}Transfer-Encoding: chunked\r\n\r\n`
const body = '{"a":1}'

/** Bytes that are not the start of any protocol. */
const noise = Buffer.from(Array.from({ length: 4 * kibibyte }, (_, index) => (index * 167 + 131) % 256))

/** Bombs of 1 GB in 1 MB, and of 100 MB in a few bytes. Created only when a server sends them. */
const gzipBomb = () => Buffer.concat(Array<Buffer>(100).fill(gzipSync(Buffer.alloc(10 * kibibyte * kibibyte))))
const brotliBomb = () =>
  brotliCompressSync(Buffer.alloc(100 * kibibyte * kibibyte), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })

const compressed = (encoding: string, bomb: () => Buffer) => (socket: Socket) => {
  const bytes = bomb()
  socket.write(`${json}Content-Encoding: ${encoding}\r\nContent-Length: ${bytes.length}\r\n\r\n`)
  socket.end(bytes)
}

const answer = (name: string, text: string): Fault => ({ name, hasHead: true, act: sayAndEnd(text) })
const noAnswer = (name: string, text: string | Buffer): Fault => ({ name, hasHead: false, act: sayAndEnd(text) })

/** Faults in each phase of a connection. */
const broken: ReadonlyArray<Fault> = [
  { name: "resets the connection", hasHead: false, act: reset },
  { name: "closes the connection", hasHead: false, act: (socket) => void socket.end() },
  { name: "says nothing", hasHead: false, endless: "silence", act: () => undefined },
  { name: "resets in the status line", hasHead: false, act: sayAndReset("HTTP/1.1 2") },
  { name: "resets in the head", hasHead: false, act: sayAndReset(`${json}X-A: b`) },
  { name: "closes in the head", hasHead: false, act: sayAndEnd(`${json}X-A: b`) },
  { name: "hangs in the head", hasHead: false, endless: "silence", act: sayAndHang(`${json}X-A: b`) },
  { name: "resets in the body", hasHead: true, act: sayAndReset(`${json}Content-Length: 100\r\n\r\n{`) },
  { name: "closes in a chunk", hasHead: true, act: sayAndEnd(`${chunked}ff\r\n{`) },
  {
    name: "hangs in the body",
    hasHead: true,
    endless: "silence",
    act: sayAndHang(`${json}Content-Length: 9\r\n\r\n{`)
  },
  {
    name: "hangs after an informational response",
    hasHead: false,
    endless: "silence",
    act: sayAndHang("HTTP/1.1 103 a\r\n\r\n")
  },
  { name: "drips a head", hasHead: false, endless: "drip", act: drip(ok, "X-A: b\r\n") },
  { name: "drips informational responses", hasHead: false, endless: "drip", act: drip("", "HTTP/1.1 102 a\r\n\r\n") },
  { name: "drips a body", hasHead: true, endless: "drip", act: drip(chunked, "1\r\n \r\n") }
]

/** Endless data. A fast server sends gigabytes within any timeout. */
const floods: ReadonlyArray<Fault> = [
  { name: "floods 100", hasHead: false, act: flood("", "HTTP/1.1 100 Continue\r\n\r\n") },
  { name: "floods 102", hasHead: false, act: flood("", "HTTP/1.1 102 Processing\r\n\r\n") },
  { name: "floods 103 with headers", hasHead: false, act: flood("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n") },
  { name: "floods blank lines before the head", hasHead: false, act: flood("", "\r\n") },
  { name: "floods a reason phrase", hasHead: false, act: flood("HTTP/1.1 200 ", "OK and so on ") },
  { name: "floods headers", hasHead: false, act: flood(ok, "X-A: b\r\n") },
  { name: "floods one header's name", hasHead: false, act: flood(ok, "X-aaaaaa") },
  { name: "floods one header's value", hasHead: false, act: flood(`${ok}X-A: `, "bbbbbbbb") },
  { name: "floods a body in chunks", hasHead: true, act: flood(chunked, "8\r\n        \r\n") },
  { name: "floods a body in chunks of one byte", hasHead: true, act: flood(chunked, "1\r\n \r\n") },
  { name: "floods a body of 10 GB", hasHead: true, act: flood(`${json}Content-Length: 10000000000\r\n\r\n`, " ") },
  { name: "floods a body without a length", hasHead: true, act: flood(`${json}\r\n`, " ") },
  { name: "floods the extensions of a chunk", hasHead: true, act: flood(`${chunked}1;`, "a=b;") },
  { name: "floods a chunk's size", hasHead: true, act: flood(chunked, "0000") },
  { name: "floods trailers", hasHead: true, act: flood(`${chunked}0\r\n`, "X-A: b\r\n") },
  { name: "floods responses after the response", hasHead: true, act: flood("", `${json}Content-Length: 2\r\n\r\n{}`) },
  { name: "floods noise", hasHead: false, act: flood("", noise) },
  { name: "floods zeros", hasHead: false, act: flood("", Buffer.alloc(kibibyte)) },
  { name: "floods lines", hasHead: false, act: flood("", "250-a\r\n") },
  { name: "floods one line", hasHead: false, act: flood("", "250-aaaa") }
].map((fault) => ({ ...fault, endless: "flood" }))

/** Responses that contradict themselves or HTTP. */
const contradictions: ReadonlyArray<Fault> = [
  answer("declares more than it sends", `${json}Content-Length: 100\r\n\r\n${body}`),
  answer("declares less than it sends", `${json}Content-Length: 3\r\n\r\n${body}`),
  noAnswer("declares a negative length", `${json}Content-Length: -1\r\n\r\n${body}`),
  noAnswer("declares a length that is not a number", `${json}Content-Length: many\r\n\r\n${body}`),
  noAnswer("declares a length beyond all numbers", `${json}Content-Length: ${"9".repeat(40)}\r\n\r\n${body}`),
  noAnswer("declares two lengths", `${json}Content-Length: 7\r\nContent-Length: 8\r\n\r\n${body}`),
  answer(
    "declares a length and chunks",
    `${json}Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n${body}\r\n0\r\n\r\n`
  ),
  answer("codes the body in an unknown way", `${json}Transfer-Encoding: zebra\r\n\r\n${body}`),
  answer("sends a chunk's size that is not a number", `${chunked}zz\r\n${body}\r\n`),
  answer("sends a chunk's size beyond all numbers", `${chunked}fffffffffffffffff\r\n${body}`),
  answer("sends 204 with a body", `HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n${body}`),
  answer("sends 304 with a body", `HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n${body}`),
  answer("speaks HTTP/1.0", `HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n${body}`),
  noAnswer("speaks HTTP/9.9", `HTTP/9.9 200 OK\r\nContent-Length: 7\r\n\r\n${body}`),
  noAnswer("speaks HTTP/0.9", body),
  noAnswer("speaks another protocol", "220 mail.example.com ESMTP\r\n"),
  noAnswer("sends noise", noise),
  noAnswer("answers with a record of TLS", Buffer.from("150303000202280a", "hex")),
  noAnswer("switches protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
  noAnswer("sends a NUL in a header", `${json}X-A: b\0c\r\nContent-Length: 7\r\n\r\n${body}`),
  noAnswer("sends a header without a colon", `${json}X-A\r\nContent-Length: 7\r\n\r\n${body}`),
  answer("sends 2,500 headers", `${ok}${"X-A: b\r\n".repeat(1_500)}Content-Length: 7\r\n\r\n${body}`),
  noAnswer("sends 20 KiB of headers", `${ok}X-A: ${"b".repeat(20 * kibibyte)}\r\nContent-Length: 7\r\n\r\n${body}`),
  noAnswer("sends a status of two digits", `HTTP/1.1 20 OK\r\nContent-Length: 7\r\n\r\n${body}`),
  answer("sends two responses", `${json}Content-Length: 2\r\n\r\n{}${json}Content-Length: 2\r\n\r\n[]`),
  answer(
    "asks to come back in a million years",
    `HTTP/1.1 503 x\r\nRetry-After: 31536000000000\r\nContent-Length: 0\r\n\r\n`
  ),
  answer("asks to come back on no day", `HTTP/1.1 429 x\r\nRetry-After: never\r\nContent-Length: 0\r\n\r\n`),
  answer("redirects to itself", "HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"),
  answer(
    "redirects to a private address",
    "HTTP/1.1 307 x\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"
  ),
  { name: "sends a gzip bomb", hasHead: true, act: compressed("gzip", gzipBomb) },
  { name: "sends a brotli bomb", hasHead: true, act: compressed("br", brotliBomb) },
  { name: "answers and resets", hasHead: true, act: sayAndReset(`${json}Content-Length: 7\r\n\r\n${body}`) }
]

/** Faults that replace an HTTP response or, for other clients, the server's greeting. */
export const faults: ReadonlyArray<Fault> = [...broken, ...floods, ...contradictions]

const hello = Buffer.from("1603030000", "hex")

export const tlsFaults: ReadonlyArray<Fault> = [
  { name: "resets the handshake", hasHead: false, act: reset },
  { name: "closes in the handshake", hasHead: false, act: (socket) => void socket.end(hello) },
  { name: "hangs in the handshake", hasHead: false, endless: "silence", act: () => undefined },
  { name: "drips a handshake", hasHead: false, endless: "drip", act: drip("\x16\x03\x03\x40\x00", "\x0b") },
  { name: "answers in plain HTTP", hasHead: false, act: sayAndEnd(`${json}Content-Length: 7\r\n\r\n${body}`) },
  { name: "floods noise in place of TLS", hasHead: false, endless: "flood", act: flood("", noise) },
  { name: "floods empty records of a handshake", hasHead: false, endless: "flood", act: flood("", hello) },
  {
    name: "floods a certificate",
    hasHead: false,
    endless: "flood",
    act: flood("", Buffer.concat([Buffer.from("16030340000b00ffff", "hex"), Buffer.alloc(16 * kibibyte - 4)]))
  }
]

/** A mail server that behaves correctly until the command, and then like `act`. */
const until =
  (command: string, act: (socket: Socket) => void, features = "") =>
  (socket: Socket): void => {
    let isDone = false
    let isInText = false
    socket.write("220 test ESMTP\r\n")
    socket.on("data", (chunk) => {
      for (const line of String(chunk)
        .split("\r\n")
        .filter((text) => text !== "")) {
        if (isDone || (isInText && line !== ".")) continue
        isInText = line === "DATA"
        isDone = line.startsWith(command)
        if (isDone) act(socket)
        else if (line.startsWith("EHLO")) socket.write(`250-test\r\n${features}250 SIZE 1000000\r\n`)
        else socket.write(isInText ? "354 go on\r\n" : "250 ok\r\n")
      }
    })
  }

const starttls = "250-STARTTLS\r\n"

export const mailFaults: ReadonlyArray<Fault> = [
  ...["EHLO", "MAIL", "RCPT", "DATA", "."].flatMap(
    (command): ReadonlyArray<Fault> => [
      { name: `hangs after ${command}`, hasHead: false, endless: "silence", act: until(command, () => undefined) },
      { name: `resets after ${command}`, hasHead: false, act: until(command, reset) },
      { name: `drips after ${command}`, hasHead: false, endless: "drip", act: until(command, drip("", "250-a\r\n")) },
      {
        name: `floods after ${command}`,
        hasHead: false,
        endless: "flood",
        act: until(command, flood("", "250-a\r\n"))
      },
      {
        name: `floods replies after ${command}`,
        hasHead: true,
        endless: "flood",
        act: until(command, flood("", "250 a\r\n"))
      }
    ]
  ),
  {
    name: "sends all replies at once",
    hasHead: true,
    act: sayAndHang(`220 a\r\n${"250 a\r\n".repeat(3)}354 a\r\n250 a\r\n`)
  }
]

export const starttlsFaults: ReadonlyArray<Fault> = [
  { name: "hangs before TLS", hasHead: false, endless: "silence", act: until("STARTTLS", () => undefined, starttls) },
  {
    name: "hangs in TLS",
    hasHead: false,
    endless: "silence",
    act: until("STARTTLS", sayAndHang("220 go on\r\n"), starttls)
  },
  {
    name: "sends noise in place of TLS",
    hasHead: false,
    endless: "silence",
    act: until("STARTTLS", sayAndHang(`220 go on\r\n${noise.toString("latin1")}`), starttls)
  },
  {
    name: "floods in place of TLS",
    hasHead: false,
    endless: "flood",
    act: until("STARTTLS", flood("220 go on\r\n", hello), starttls)
  }
]
