import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { documentOf } from "./index/Corpus.ts"

/*
 * Measures the size of compressed responses (R52) and the CPU time over all threads of this process: a search with 10
 * results and a batch of 50 such rows, with texts from Corpus.ts. `COMPRESSION=on` uses Brotli 4 and gzip 6.
 */

const resultsOf = (row: number) =>
  Array.from({ length: 10 }, (_, index) => {
    const { description, title, url } = documentOf(row * 10 + index)
    return { position: index + 1, title, url, domain: new URL(url).hostname, snippet: description }
  })

const bodyOf = (row: number) => ({ id: "qry_", query: documentOf(row).title, results: { organic: resultsOf(row) } })

const bodies = {
  search: Buffer.from(JSON.stringify(bodyOf(1))),
  batch: Buffer.from(JSON.stringify(Array.from({ length: 50 }, (_, row) => bodyOf(row))))
}

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

const codings: Readonly<Record<string, (body: Buffer) => Promise<Buffer>>> = {
  "br 4": (body) =>
    brotli(body, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: body.length }
    }),
  "br 11": (body) => brotli(body),
  "gzip 6": (body) => zip(body, { level: 6 })
}

const measure = async (name: string, body: Buffer, compress: (body: Buffer) => Promise<Buffer>, rounds: number) => {
  const { length } = await compress(body)
  const before = process.cpuUsage()
  for (let round = 0; round < rounds; round++) await compress(body)
  const { system, user } = process.cpuUsage(before)
  const share = ((100 * length) / body.length).toFixed(0)
  console.log(
    `${name}: ${body.length} bytes become ${length} (${share} %), ${((user + system) / rounds).toFixed(0)} µs of CPU`
  )
}

for (const [kind, body] of Object.entries(bodies)) {
  for (const [coding, compress] of Object.entries(codings)) {
    const rounds = coding === "br 11" ? 20 : kind === "search" ? 1000 : 100
    await measure(`${kind}, ${coding}`, body, compress, rounds)
  }
}
