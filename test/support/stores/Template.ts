import { createHash, randomUUID } from "node:crypto"
import { existsSync, readdirSync, readFileSync, statfsSync } from "node:fs"
import { cp, mkdir, rename, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, type Scope } from "effect"
import { temporaryDirectoryIn } from "../processes/Spawned.ts"
import { count } from "../profile/started.ts"
import { memory } from "./storeParents.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))

/**
 * Fingerprint of everything that a store's files depend on: the schema, the test's data, and the versions of programs.
 */
export const fingerprint = (content: unknown): string => {
  const hash = createHash("sha256")
    .update(JSON.stringify(content))
    .update(readFileSync(join(root, "package-lock.json")))
    .update(readFileSync(join(root, "src/layers/sql/Migrations.ts")))
  const schema = join(root, "src/layers/sql/schema")
  for (const name of readdirSync(schema, { recursive: true, encoding: "utf8" }).sort()) {
    if (name.endsWith(".sql")) hash.update(name).update(readFileSync(join(schema, name)))
  }
  return hash.digest("hex").slice(0, 16)
}

/** Space for concurrently open stores of 41 MB each. Containers have 64 MB in memory by default. */
const neededBytes = 2 ** 30

/**
 * Parent directory for temporary stores, in memory if there is space. A store has 1,258 files, and for each new file
 * ext4 checks all recently deleted ones. So on disk, a copy takes a second of CPU while other tests delete theirs.
 */
export const storesParent = (): string => {
  if (!existsSync(memory)) return tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > neededBytes ? memory : tmpdir()
}

/**
 * A data directory of the embedded store, removed with the scope. It is a copy of a template that `make` creates once:
 * creating takes seconds, copying a tenth of a second. `content` is what `make` depends on besides the schema.
 */
export const copyOf = Effect.fnUntraced(function* (
  content: unknown,
  make: (dataDir: string) => Effect.Effect<void, never, Scope.Scope>
) {
  const path = join(tmpdir(), `quarry-template-${fingerprint(content)}`)
  if (!existsSync(path)) {
    const making = `${path}-${randomUUID()}`
    yield* Effect.promise(() => mkdir(making))
    yield* Effect.scoped(make(join(making, "store")))
    // Another worker may have been faster. Its template is equivalent.
    yield* Effect.promise(() => rename(making, path).catch(() => rm(making, { recursive: true, force: true })))
  }
  const copy = join(yield* temporaryDirectoryIn(storesParent()), "store")
  yield* Effect.promise(() => cp(join(path, "store"), copy, { recursive: true }))
  count("embedded store")
  return copy
})
