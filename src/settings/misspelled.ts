import { Struct } from "effect"
import { table, variableOf } from "./table.ts"

export interface Misspelling {
  readonly variable: string
  readonly setting: string
}

const settings = Struct.keys(table).map(variableOf)

/** Shorter names, such as HOST and PORT, resemble too many variables of other programs. */
const minCharacters = 8

/** In a shorter name, two mistakes make a different word. */
const minCharactersForTwo = 12

/** Variables of other programs that resemble a setting. They are reported only if that setting is missing. */
const ofOthers = new Set(["BASE_URI", "DATABASE_URI", "DATADIR", "LOGLEVEL", "MAIL_FROM", "REDIS_URI", "SMTP_URI"])

/** True if the texts are equal or differ by one inserted, deleted, or replaced letter, or one swap of neighbors. */
const differsByOne = (one: string, other: string): boolean => {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one]
  if (long.length - short.length > 1) return false
  let start = 0
  while (start < short.length && short[start] === long[start]) start++
  const rest = (text: string, skipped: number): string => text.slice(start + skipped)
  if (short.length < long.length) return rest(short, 0) === rest(long, 1)
  const isSwapped = short[start] === long[start + 1] && short[start + 1] === long[start]
  return rest(short, 1) === rest(long, 1) || (isSwapped && rest(short, 2) === rest(long, 2))
}

const withoutUnderscores = (name: string): string => name.replaceAll("_", "")

const byLetters: ReadonlyMap<string, string> = new Map(settings.map((name) => [withoutUnderscores(name), name]))

/** Accepts one mistake, or one in each of two words. Two in one word would confuse `OTEL_BLRP_…` and `OTEL_BSP_…`. */
const resembles = (setting: string, name: string): boolean => {
  if (setting.length < minCharacters || Math.abs(setting.length - name.length) > 2) return false
  if (differsByOne(setting, name)) return true
  if (setting.length < minCharactersForTwo) return false
  const words = name.split("_")
  const own = setting.split("_")
  if (words.length !== own.length) return false
  const wrong = own.flatMap((word, index) => (word === words[index] ? [] : [differsByOne(word, words[index] ?? "")]))
  return wrong.length <= 2 && wrong.every((isClose) => isClose)
}

export const misspellings = (variables: ReadonlyArray<string>): ReadonlyArray<Misspelling> => {
  const isSet = new Set(variables)
  const known = new Set(settings)
  return variables.flatMap((variable) => {
    if (known.has(variable)) return []
    const name = variable.toUpperCase()
    const setting = byLetters.get(withoutUnderscores(name)) ?? settings.find((candidate) => resembles(candidate, name))
    if (setting === undefined || (ofOthers.has(name) && isSet.has(setting))) return []
    return [{ variable, setting }]
  })
}

/** Leaves out the value, which may be a secret. */
export const explainMisspelling = ({ setting, variable }: Misspelling): string =>
  `${variable} is not a setting and is ignored. Did you mean ${setting}?`
