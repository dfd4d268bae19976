import type { Act } from "./api.ts"

type Flags = Readonly<Record<string, string | number | boolean | undefined>>

const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

const flagOf = ([name, value]: readonly [string, Flags[string]]): ReadonlyArray<string> => {
  if (value === undefined || value === "" || value === false) return []
  const flag = `--${name.replaceAll("_", "-")}`
  return value === true || value === "true" ? [flag] : [`${flag} ${quote(`${value}`)}`]
}

/** A command that only reads, with the flags that have a value. */
export const commandText = (command: string, flags: Flags, ...texts: ReadonlyArray<string>): string =>
  ["quarry", command, ...texts.map(quote), ...Object.entries(flags).flatMap(flagOf)].join(" ")

export const commandLine = ({ command, ...fields }: Act): string => commandText(command, fields)
