import { Config, Effect, Option } from "effect"
import { EntryInvalid, every } from "./ProviderType.ts"

const variable = /\$\{([^}]*)\}/g

/** The values of all `${NAME}` in a text. Fails for environment variables that are not set or empty. */
export const variablesIn = Effect.fnUntraced(function* (path: string, text: string) {
  const names = new Set(text.matchAll(variable).map(([, name = ""]) => name))
  const values = yield* every(
    names,
    Effect.fnUntraced(function* (name) {
      const value = yield* Config.option(Config.String(name)).pipe(Effect.orElseSucceed(() => Option.none<string>()))
      if (Option.isSome(value) && value.value !== "") return [name, value.value] as const
      const problem = `names the environment variable ${name}, which is not set`
      return yield* new EntryInvalid({ faults: [{ path, problem }] })
    })
  )
  return new Map(values)
})

/** Replaces every `${NAME}` with an environment variable. */
const interpolate = (path: string, text: string) =>
  Effect.map(variablesIn(path, text), (values) => text.replace(variable, (_, name: string) => values.get(name) ?? ""))

/** Replaces every `${NAME}` in the strings of a JSON value. */
export const interpolateAll = (path: string, value: unknown): Effect.Effect<unknown, EntryInvalid> => {
  if (typeof value === "string") return interpolate(path, value)
  if (typeof value !== "object" || value === null) return Effect.succeed(value)
  if (Array.isArray(value)) {
    return every(value.entries(), ([index, item]) => interpolateAll(`${path}.${index}`, item))
  }
  return Effect.map(
    every(Object.entries(value), ([key, item]) =>
      Effect.map(interpolateAll(`${path}.${key}`, item), (whole) => [key, whole] as const)
    ),
    (entries) => Object.fromEntries(entries)
  )
}
