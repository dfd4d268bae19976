import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { brotliDecompress } from "node:zlib"

/** `empty` has no table. `starter` has the schema and the whole starter index. */
export type Template = "empty" | "starter"

const root = new URL("../../../../", import.meta.url)

export const templateFile = (template: Template): URL => new URL(`data/${template}-database.tar.br`, root)

export const fingerprintFile = new URL("data/starter-database.sha256", root)

const decompress = promisify(brotliDecompress)

/** Made by `npm run templates`. Unpacking it takes a third of initdb's time. */
export const readTemplate = async (template: Template): Promise<Blob> =>
  new Blob([await decompress(await readFile(templateFile(template)))])

/** Everything that the starter template is made from. */
const sources = [
  "data/starter-index.jsonl.gz",
  "src/domain/index",
  "src/layers/sql/index/DocumentLoad.ts",
  "src/layers/sql/index/DocumentSegments.ts",
  "src/layers/sql/schema"
]

const filesOf = (path: string): ReadonlyArray<string> =>
  /\.\w+$/.test(path)
    ? [path]
    : readdirSync(new URL(path, root), { withFileTypes: true })
        .flatMap((entry) => filesOf(`${path}/${entry.name}`))
        .sort()

export const fingerprint = (): string => {
  const hash = createHash("sha256")
  for (const path of sources.flatMap(filesOf)) hash.update(path).update(readFileSync(new URL(path, root)))
  return hash.digest("hex")
}

/** False after a change to the schema or the index, until `npm run templates`. A first start then does all the work. */
export const isStarterCurrent = (): boolean =>
  existsSync(fingerprintFile) &&
  existsSync(templateFile("starter")) &&
  readFileSync(fingerprintFile, "utf8").trim() === fingerprint()
