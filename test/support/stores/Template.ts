import { createHash, randomUUID } from "node:crypto"
import { existsSync, readdirSync, readFileSync, statfsSync } from "node:fs"
import { cp, mkdir, rename, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, type Scope } from "effect"
import { temporaryDirectoryIn } from "../processes/Spawned.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))

/** Everything that the files of a store depend on: the schema, what the tests put in, and the versions of what makes them. */
const fingerprint = (content: unknown): string => {
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

const memory = "/dev/shm"

/** For the stores that are open at the same time, of 41 MB each. A container has 64 MB in memory unless it asks for more. */
const neededBytes = 2 ** 30

/**
 * The parent of stores that tests make and remove: in memory where there is room. A store has 1,258 files. For each new file
 * ext4 looks at all that were deleted in the last seconds, so that on a disk a copy takes a second of CPU while other tests
 * delete theirs.
 */
export const storesParent = (): string => {
  if (!existsSync(memory)) return tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > neededBytes ? memory : tmpdir()
}

/**
 * A data directory of the embedded store, removed with the scope. It is a copy of one that `make` made once, and that is
 * kept: to make one takes seconds, and to copy it a tenth of one. `content` is what `make` depends on besides the schema.
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
    // Another worker may have been faster: then its template is as good.
    yield* Effect.promise(() => rename(making, path).catch(() => rm(making, { recursive: true, force: true })))
  }
  const copy = join(yield* temporaryDirectoryIn(storesParent()), "store")
  yield* Effect.promise(() => cp(join(path, "store"), copy, { recursive: true }))
  return copy
})
