import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { brotliDecompress } from "node:zlib"

const file = new URL("../../../../data/empty-database.tar.br", import.meta.url)

const decompress = promisify(brotliDecompress)

/** Made by `npm run empty-database`. Unpacking it takes a third of initdb's time. */
export const readEmptyDatabase = async (): Promise<Blob> => new Blob([await decompress(await readFile(file))])
