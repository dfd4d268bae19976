import { PassThrough, pipeline, type Readable, type Transform } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib"

export const acceptedCodings = "gzip, deflate, br"

const codings = ["", "identity", "gzip", "x-gzip", "deflate", "br"] as const

const codingOf = (header: string | undefined): (typeof codings)[number] | undefined => {
  const name = (header ?? "").trim().toLowerCase()
  return codings.find((coding) => coding === name)
}

export const isKnownCoding = (header: string | undefined): boolean => codingOf(header) !== undefined

const ignore = (): void => undefined

const through = (body: Readable, decoder: Transform): Readable => pipeline(body, decoder, ignore)

/** Low four bits of a zlib header, which RFC 9110 calls deflate. Some servers send raw deflate instead. */
const zlibMethod = 8

const inflated = (body: Readable): Readable => {
  const output = new PassThrough()
  let isEmpty = true
  body.once("data", (first: Buffer) => {
    isEmpty = false
    body.pause()
    body.unshift(first)
    pipeline(body, ((first[0] ?? 0) & 15) === zlibMethod ? createInflate() : createInflateRaw(), output, ignore)
  })
  body.once("end", () => {
    if (isEmpty) output.end()
  })
  body.once("error", (error) => output.destroy(error))
  return output
}

/** Decompresses a body as it is read. Undefined if the coding is unknown. */
export const decoded = (body: Readable, header: string | undefined): Readable | undefined => {
  switch (codingOf(header)) {
    case "":
    case "identity":
      return body
    case "gzip":
    case "x-gzip":
      return through(body, createGunzip())
    case "deflate":
      return inflated(body)
    case "br":
      return through(body, createBrotliDecompress())
    case undefined:
      return undefined
  }
}
