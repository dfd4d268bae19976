import { Effect, FileSystem, Layer } from "effect"
import { explainMisspelling, type Misspelling, misspellings } from "../settings/misspelled.ts"
import { AppConfig, SettingsInvalid } from "../settings/Settings.ts"

const suspects: ReadonlyArray<Misspelling> = misspellings(Object.keys(process.env))

/** The provider file may use these variables. */
const withoutThoseOf = Effect.fnUntraced(function* (providerFile: string | undefined) {
  if (suspects.length === 0 || providerFile === undefined) return suspects
  const files = yield* FileSystem.FileSystem
  const text = yield* Effect.orElseSucceed(files.readFileString(providerFile), () => "")
  return suspects.filter(({ variable }) => !text.includes(`\${${variable}}`))
})

/** If the settings are invalid, the message also lists misspelled variables as a possible cause. */
export const settings = AppConfig.layer.pipe(
  Layer.catchTag("SettingsInvalid", ({ message }) =>
    Layer.effectContext(
      Effect.fail(new SettingsInvalid({ message: [message, ...suspects.map(explainMisspelling)].join("\n") }))
    )
  )
)

export const warn = Layer.effectDiscard(
  Effect.gen(function* () {
    const { quarryProviders } = yield* AppConfig
    const found = yield* withoutThoseOf(quarryProviders)
    yield* Effect.forEach(found, (misspelling) => Effect.logWarning(explainMisspelling(misspelling)), { discard: true })
  })
)
