import { Config, ConfigProvider, Context, Duration, Effect, Layer, Option, Result, Struct } from "effect"
import { OperatorError } from "../domain/OperatorError.ts"
import { contradictions, maxDrainDelay } from "./contradictions.ts"
import { type Name, type Setting, table, type Values, variableOf } from "./table.ts"

export class SettingsInvalid extends OperatorError("SettingsInvalid") {}

/** `Config` only reads the text: `Config.all` would stop at the first error, and its messages contain secrets. */
const decode = <A, F>(name: Name, { fallback, form }: Setting<A, F>): Effect.Effect<A | F, string> =>
  Effect.gen(function* () {
    const variable = variableOf(name)
    // Reading cannot fail: names are flat, and the sources are the environment and records.
    const text = Option.getOrElse(yield* Effect.orDie(Config.option(Config.String(variable))), () => "")
    // Compose files and CI pass unset variables as empty strings.
    if (text === "") return fallback
    const value = form.decode(text)
    if (Option.isSome(value)) return value.value
    const got = form.hides === "nothing" ? JSON.stringify(text) : "a value that is not shown"
    return yield* Effect.fail(`${variable}: got ${got}; takes ${form.takes}.`)
  })

/** `DRAIN_DELAY` defaults to this, unless `SHUTDOWN_GRACE` is too short for it (R54). */
export const usualDrainDelay = Duration.seconds(5)

const read = Effect.gen(function* () {
  const values: Record<string, unknown> = {}
  const faults: Array<string> = []
  for (const name of Struct.keys(table)) {
    const result = yield* Effect.result(decode<unknown, unknown>(name, table[name]))
    if (Result.isSuccess(result)) values[name] = result.success
    else faults.push(result.failure)
  }
  if (faults.length > 0) return yield* new SettingsInvalid({ message: faults.join("\n") })
  // The cast: the loop filled in every name of the table.
  const settings = values as Values
  const contradicting = contradictions(settings)
  if (contradicting.length > 0) return yield* new SettingsInvalid({ message: contradicting.join("\n") })
  return {
    ...settings,
    baseUrl: settings.baseUrl ?? `http://localhost:${settings.port}`,
    drainDelay: settings.drainDelay ?? Duration.min(usualDrainDelay, maxDrainDelay(settings))
  }
})

export class AppConfig extends Context.Service<AppConfig, Effect.Success<typeof read>>()("quarry/settings/AppConfig") {
  static readonly layer: Layer.Layer<AppConfig, SettingsInvalid> = Layer.effect(AppConfig, read)

  /** The layer that the settings choose. */
  static readonly layerFrom = <A, E, R>(choose: (settings: AppConfig["Service"]) => Layer.Layer<A, E, R>) =>
    Layer.unwrap(AppConfig.useSync(choose))

  /** A service whose value follows from the settings. */
  static readonly serviceFrom = <I, S>(service: Context.Key<I, S>, toValue: (settings: AppConfig["Service"]) => S) =>
    Layer.effect(service, AppConfig.useSync(toValue))

  /** The defaults with in-memory storage. */
  static readonly layerTest = (overrides: Partial<AppConfig["Service"]> = {}): Layer.Layer<AppConfig> =>
    Layer.effect(
      AppConfig,
      Effect.map(read, (defaults) => ({ ...defaults, dataDir: "memory:", ...overrides }))
    ).pipe(Layer.orDie, Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({}))))
}
