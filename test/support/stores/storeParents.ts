import { existsSync } from "node:fs"
import { tmpdir } from "node:os"

export const memory = "/dev/shm"

/** Directories in which tests create stores. */
export const storeParents: ReadonlyArray<string> = existsSync(memory) ? [memory, tmpdir()] : [tmpdir()]
