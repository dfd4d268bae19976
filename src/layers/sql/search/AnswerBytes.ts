import { promisify } from "node:util"
import { brotliCompress, brotliCompressSync, brotliDecompress, brotliDecompressSync, constants } from "node:zlib"
import { Effect } from "effect"

/** A batch of 50 searches with 20 results each needs about a third. */
const maxAnswerBytes = 1_048_576

const maxCharacters = 16 * 1_048_576
const maxTextBytes = 4 * maxCharacters

/** Above these sizes a worker thread is faster. A single search's answer is smaller. */
const maxSyncCharacters = 16_384
const maxSyncBytes = 4_096

const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }

const compress = promisify(brotliCompress)
const decompress = promisify(brotliDecompress)

/** Compresses an answer. Empty if it is too large to store. */
export const pack = (text: string): Effect.Effect<Uint8Array> => {
  if (text.length <= maxSyncCharacters) return Effect.sync(() => brotliCompressSync(text, fast))
  if (text.length > maxCharacters) return Effect.succeed(new Uint8Array())
  return Effect.map(
    Effect.promise(() => compress(text, fast)),
    (bytes) => (bytes.length <= maxAnswerBytes ? bytes : new Uint8Array())
  )
}

export const unpack = (bytes: Uint8Array | null): Effect.Effect<string | undefined> => {
  if (bytes === null || bytes.length === 0) return Effect.undefined
  const bounds = { maxOutputLength: maxTextBytes }
  if (bytes.length <= maxSyncBytes) return Effect.sync(() => brotliDecompressSync(bytes, bounds).toString())
  return Effect.map(
    Effect.promise(() => decompress(bytes, bounds)),
    (text) => text.toString()
  )
}
