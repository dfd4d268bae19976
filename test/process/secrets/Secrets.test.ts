import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Path, Redacted } from "effect"
import { Secrets } from "../../../src/process/secrets/Secrets.ts"
import { AppConfig } from "../../../src/settings/Settings.ts"

const open = (overrides: Partial<AppConfig["Service"]>) =>
  Effect.map(
    Effect.provide(Secrets, Layer.fresh(Secrets.layer).pipe(Layer.provide(AppConfig.layerTest(overrides)))),
    ({ authSecret, keyPepper }) => ({
      authSecret: authSecret.map(Redacted.value).join(),
      keyPepper: keyPepper.map(Redacted.value).join()
    })
  )

const directory = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return { files, path, dataDir: path.join(yield* files.makeTempDirectoryScoped(), "store") }
})

const mode = (bits: number) => bits & 0o777

describe("Secrets", () => {
  it.effect("are made once on the embedded store and kept for their owner alone", () =>
    Effect.gen(function* () {
      const { dataDir, files, path } = yield* directory
      const first = yield* open({ dataDir })
      assert.deepStrictEqual(yield* open({ dataDir }), first)
      assert.notStrictEqual(first.authSecret, first.keyPepper)
      assert.strictEqual(mode((yield* files.stat(dataDir)).mode), 0o700)
      assert.strictEqual(mode((yield* files.stat(path.join(dataDir, "secrets.json"))).mode), 0o600)
      assert.deepStrictEqual(yield* files.readDirectory(dataDir), ["secrets.json"])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("several first starts at once agree", () =>
    Effect.gen(function* () {
      const { dataDir } = yield* directory
      const all = yield* Effect.all(
        Array.from({ length: 8 }, () => open({ dataDir })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(all.map((it) => it.keyPepper)).size, 1)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("are fresh each time on memory:", () =>
    Effect.gen(function* () {
      const first = yield* open({ dataDir: "memory:" })
      assert.notStrictEqual((yield* open({ dataDir: "memory:" })).keyPepper, first.keyPepper)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("R56: of an embedded store may be two, the new one first", () =>
    Effect.gen(function* () {
      const { dataDir, files, path } = yield* directory
      const kept = yield* open({ dataDir })
      const file = path.join(dataDir, "secrets.json")
      yield* files.writeFileString(file, JSON.stringify({ ...kept, keyPepper: ["new", kept.keyPepper] }))
      assert.deepStrictEqual(yield* open({ dataDir }), { ...kept, keyPepper: `new,${kept.keyPepper}` })
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("of the environment win over kept ones", () =>
    Effect.gen(function* () {
      const { dataDir } = yield* directory
      const kept = yield* open({ dataDir })
      const opened = yield* open({ dataDir, keyPepper: [Redacted.make("mine")] })
      assert.deepStrictEqual(opened, { ...kept, keyPepper: "mine" })
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("a directory that holds something else, or has lost its secrets, is refused and left as it was", () =>
    Effect.gen(function* () {
      const { dataDir, files, path } = yield* directory
      yield* files.makeDirectory(path.join(dataDir, "postgres"), { recursive: true })
      const failure = yield* Effect.flip(open({ dataDir }))
      assert.include(failure.message, `${dataDir} is not a Quarry store`)
      assert.deepStrictEqual(yield* files.readDirectory(dataDir), ["postgres"])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("a damaged file is refused and never replaced", () =>
    Effect.gen(function* () {
      const { dataDir, files, path } = yield* directory
      yield* open({ dataDir })
      yield* files.writeFileString(path.join(dataDir, "secrets.json"), "{")
      const failure = yield* Effect.flip(open({ dataDir }))
      assert.match(failure.message, /is damaged: secrets\.json/)
      assert.strictEqual(yield* files.readFileString(path.join(dataDir, "secrets.json")), "{")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("a path that is a file is refused in one line", () =>
    Effect.gen(function* () {
      const { dataDir, files } = yield* directory
      yield* files.writeFileString(dataDir, "")
      const failure = yield* Effect.flip(open({ dataDir }))
      assert.match(failure.message, /^DATA_DIR .* cannot be used: ENOTDIR[^\n]*$/)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
