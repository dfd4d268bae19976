import { createHash } from "node:crypto"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { Effect } from "effect"
import { type Headers, HttpServerRequest, HttpServerResponse } from "effect/http"

/**
 * Documents that are the same for everybody. Each is compressed once, and all readers share its buffers: a thousand slow
 * readers cost no more memory than one.
 */

export interface AssetOptions {
  readonly text: string
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
}

/** For an asset whose path changes with its content. */
export const immutableHeaders = { "cache-control": "public, max-age=31536000, immutable" }

/** For an asset that a reader asks about each time, and gets again only when it has changed. */
export const revalidatedHeaders = { "cache-control": "no-cache" }

/** A short name of a text, another for another text. */
export const fingerprint = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16)

/** The highest level, 11, would take six times as long for a tenth less, and a start waits for it. */
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }

/** Whether an `Accept-Encoding` (RFC 9110, 12.5.3) allows a coding: named, or by `*`, and not with a weight of 0. */
const accepts = (header: string, coding: string): boolean => {
  const weights = new Map<string, boolean>()
  for (const part of header.toLowerCase().split(",")) {
    const [name = "", weight = ""] = part.split(";")
    weights.set(name.trim(), !/^\s*q=0(?:\.0{0,3})?\s*$/.test(weight))
  }
  return weights.get(coding) ?? weights.get("*") ?? false
}

export type Coding = "br" | "gzip" | "identity"

/** The smallest form that a reader takes. */
export const codingFor = (acceptEncoding: string | undefined): Coding => {
  if (acceptEncoding === undefined) return "identity"
  if (accepts(acceptEncoding, "br")) return "br"
  return accepts(acceptEncoding, "gzip") ? "gzip" : "identity"
}

const matches = (ifNoneMatch: string, tag: string): boolean =>
  ifNoneMatch === "*" || ifNoneMatch.split(",").some((sent) => sent.trim().replace(/^W\//, "") === tag)

/** Answers a request with the asset in the form that it asks for, or with 304 when the reader has it. */
export const assetResponse = ({ contentType, headers, text }: AssetOptions) => {
  const body = Buffer.from(text)
  const tag = `"${fingerprint(text)}"`
  // Weak: the bytes differ by coding, what they say does not.
  const always = { ...headers, etag: `W/${tag}`, vary: "accept-encoding" }
  const response = (bytes: Uint8Array, coding: Readonly<Record<string, string>>) =>
    HttpServerResponse.uint8Array(bytes, { contentType, headers: { ...always, ...coding } })
  const responses: { readonly [C in Coding]: HttpServerResponse.HttpServerResponse } = {
    br: response(brotliCompressSync(body, brotli), { "content-encoding": "br" }),
    gzip: response(gzipSync(body, { level: 9 }), { "content-encoding": "gzip" }),
    identity: response(body, {})
  }
  const unchanged = HttpServerResponse.empty({ status: 304, headers: always })

  const select = (sent: Headers.Headers): HttpServerResponse.HttpServerResponse =>
    sent["if-none-match"] !== undefined && matches(sent["if-none-match"], tag)
      ? unchanged
      : responses[codingFor(sent["accept-encoding"])]
  return Effect.map(HttpServerRequest.HttpServerRequest, (request) => select(request.headers))
}
