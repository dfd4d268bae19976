import type { Transform } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib"

export const acceptedCodings = "gzip, deflate, br"

const codings = ["identity", "gzip", "deflate", "br"] as const
export type Coding = (typeof codings)[number]

const otherNames: ReadonlyMap<string, Coding> = new Map([
  ["", "identity"],
  ["x-gzip", "gzip"]
])

/** Undefined if the coding is unknown. */
export const codingOf = (header: string | undefined): Coding | undefined => {
  const name = (header ?? "").trim().toLowerCase()
  return otherNames.get(name) ?? codings.find((coding) => coding === name)
}

/** Low four bits of a zlib header, which RFC 9110 calls deflate. Some servers send raw deflate instead. */
const zlibMethod = 8

/**
 * The decoder for a body that starts with `first`. It decompresses in steps of 16 KiB and waits for its reader after
 * each, so that destroying it stops the work.
 */
export const decoderFor = (coding: Exclude<Coding, "identity">, first: Buffer): Transform => {
  switch (coding) {
    case "gzip":
      return createGunzip()
    case "deflate":
      return ((first[0] ?? 0) & 15) === zlibMethod ? createInflate() : createInflateRaw()
    case "br":
      return createBrotliDecompress()
  }
}
