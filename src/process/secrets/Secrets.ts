import { randomBytes } from "node:crypto"
import {
  type Array as Arr,
  Context,
  Effect,
  FileSystem,
  Layer,
  Path,
  type PlatformError,
  Redacted,
  Schema
} from "effect"
import { OperatorError } from "../../domain/OperatorError.ts"
import { rootCauseMessage } from "../../domain/rootCause.ts"
import { syncDirectory, syncFile } from "../../services/wholeFile.ts"
import { AppConfig } from "../../settings/Settings.ts"

export class SecretsUnavailable extends OperatorError("SecretsUnavailable") {}

/** During a rotation, each secret has a new and an old value. */
export interface SecretValues {
  readonly authSecret: Arr.NonEmptyReadonlyArray<Redacted.Redacted>
  readonly keyPepper: Arr.NonEmptyReadonlyArray<Redacted.Redacted>
}

const fileName = "secrets.json"

const OneOrTwo = Schema.Union([Schema.NonEmptyString, Schema.Tuple([Schema.NonEmptyString, Schema.NonEmptyString])])

const File = Schema.fromJsonString(Schema.Struct({ authSecret: OneOrTwo, keyPepper: OneOrTwo }))
type File = typeof File.Type

const makeSecrets = Effect.sync(
  (): File => ({ authSecret: randomBytes(32).toString("base64"), keyPepper: randomBytes(32).toString("base64") })
)

const valuesOf = (kept: File["keyPepper"]): Arr.NonEmptyReadonlyArray<Redacted.Redacted> =>
  typeof kept === "string" ? [Redacted.make(kept)] : [Redacted.make(kept[0]), Redacted.make(kept[1])]

/** True for entries that neither Quarry nor an operating system creates in an empty directory. */
const isUnknownEntry = (name: string): boolean =>
  !name.startsWith(fileName) && !name.startsWith(".") && name !== "lost+found"

/** Fails for a directory with files but no secrets: it is not a store, or lost its secrets and no key would work. */
const storedSecrets = Effect.fnUntraced(function* (dataDir: string) {
  const files = yield* FileSystem.FileSystem
  const file = (yield* Path.Path).join(dataDir, fileName)

  const read = Effect.flatMap(files.readFileString(file), Schema.decodeUnknownEffect(File)).pipe(
    Effect.catchTag("SchemaError", () =>
      Effect.fail(
        new SecretsUnavailable({
          message: `DATA_DIR ${dataDir} is damaged: ${fileName} is not readable. Restore a backup.`
        })
      )
    )
  )

  /** Recurses itself, because Node's recursion never ends under a directory that accepts no entries, such as /proc. */
  const makeDirectory = (
    path: string
  ): Effect.Effect<void, PlatformError.PlatformError, FileSystem.FileSystem | Path.Path> =>
    Effect.gen(function* () {
      if (yield* files.exists(path)) return
      const { dirname } = yield* Path.Path
      yield* makeDirectory(dirname(path))
      yield* files
        .makeDirectory(path, { mode: 0o700 })
        .pipe(Effect.catchReason("PlatformError", "AlreadyExists", () => Effect.void))
      yield* syncDirectory(dirname(path))
    })

  /** A link, unlike a rename, never replaces a file that a concurrent first start has created. */
  const create = Effect.gen(function* () {
    yield* makeDirectory(dataDir)
    if ((yield* files.readDirectory(dataDir)).some(isUnknownEntry)) {
      return yield* new SecretsUnavailable({
        message: `DATA_DIR ${dataDir} is not a Quarry store: it holds files but no ${fileName}. Name an empty directory, or restore ${fileName} from a backup.`
      })
    }
    const draft = `${file}.${randomBytes(8).toString("hex")}`
    const text = yield* Effect.orDie(Schema.encodeEffect(File)(yield* makeSecrets))
    yield* files.writeFileString(draft, text, { flag: "wx", mode: 0o600 })
    yield* syncFile(draft)
    yield* files.link(draft, file).pipe(
      Effect.catchReason("PlatformError", "AlreadyExists", () => Effect.void),
      Effect.ensuring(Effect.ignore(files.remove(draft)))
    )
    // No key works without them: nothing that depends on the secrets is written before the disk has them.
    yield* syncDirectory(dataDir)
  })

  if (!(yield* files.exists(file))) yield* create
  return yield* read
})

const unusable = (dataDir: string, error: PlatformError.PlatformError) =>
  new SecretsUnavailable({ message: `DATA_DIR ${dataDir} cannot be used: ${rootCauseMessage(error)}` })

export class Secrets extends Context.Service<Secrets, SecretValues>()("quarry/process/Secrets") {
  static readonly layer: Layer.Layer<Secrets, SecretsUnavailable, AppConfig | FileSystem.FileSystem | Path.Path> =
    Layer.effect(
      Secrets,
      Effect.gen(function* () {
        const { authSecret, dataDir, databaseUrl, keyPepper } = yield* AppConfig
        if (authSecret !== undefined && keyPepper !== undefined && databaseUrl !== undefined) {
          return { authSecret, keyPepper }
        }
        const own =
          dataDir === "memory:"
            ? yield* makeSecrets
            : yield* storedSecrets(dataDir).pipe(
                Effect.catchTag("PlatformError", (error) => Effect.fail(unusable(dataDir, error)))
              )
        return {
          authSecret: authSecret ?? valuesOf(own.authSecret),
          keyPepper: keyPepper ?? valuesOf(own.keyPepper)
        }
      })
    )
}
