import { createHash, randomUUID } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { cp, mkdir, rename, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { spawned, temporaryDirectory } from "./Spawned.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** The store's own are made at its first start. Those that are given cannot be exchanged later (R56). */
type Secrets = Readonly<Record<"KEY_PEPPER" | "AUTH_SECRET", string>>

/** Everything that a store's files depend on: the schema, its secrets, and the versions of what makes them. */
const fingerprint = (secrets: Secrets | undefined): string => {
  const hash = createHash("sha256")
    .update(JSON.stringify(secrets ?? {}))
    .update(readFileSync(join(root, "package-lock.json")))
    .update(readFileSync(fileURLToPath(import.meta.url)))
  const schema = join(root, "src/layers/sql/schema")
  for (const name of readdirSync(schema, { recursive: true, encoding: "utf8" }).sort()) {
    if (name.endsWith(".sql")) hash.update(name).update(readFileSync(join(schema, name)))
  }
  return hash.digest("hex").slice(0, 16)
}

const documents = Array.from({ length: 12 }, (_, index) => ({
  url: `https://site${index + 1}.example.com/http-caching`,
  title: `HTTP caching, part ${index + 1}`,
  description: "How answers of HTTP are cached, and when a cache asks again."
}))

/** A migrated store with a few documents, made once and kept: to make one takes seconds, and to copy it a tenth of one. */
const template = Effect.fnUntraced(function* (secrets: Secrets | undefined) {
  const path = join(tmpdir(), `quarry-template-${fingerprint(secrets)}`)
  if (existsSync(path)) return path
  const making = `${path}-${randomUUID()}`
  const file = join(making, "documents.jsonl")
  yield* Effect.promise(() => mkdir(making))
  yield* Effect.promise(() => writeFile(file, documents.map((document) => JSON.stringify(document)).join("\n")))
  const { ended } = yield* spawned("src/cli.ts", ["index", "load", file], {
    DATA_DIR: join(making, "store"),
    ...secrets
  })
  const { code, stderr } = yield* ended
  if (code !== 0) return yield* Effect.die(new Error(`the template of the embedded store was not made: ${stderr}`))
  // Another worker may have been faster: then its template is as good.
  yield* Effect.promise(() => rename(making, path).catch(() => rm(making, { recursive: true, force: true })))
  return path
})

/**
 * A data directory in which a first start finds a few documents in the index, so that it need not load the thousands of the
 * starter index: it still makes the developer's account and prints its key. Removed with the scope.
 */
export const directoryWith = Effect.fnUntraced(function* (secrets: Secrets | undefined) {
  const from = join(yield* template(secrets), "store")
  const to = join(yield* temporaryDirectory, "store")
  yield* Effect.promise(() => cp(from, to, { recursive: true }))
  return to
})

export const directory = directoryWith(undefined)
