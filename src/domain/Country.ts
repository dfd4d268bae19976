import { geos, parseGeo } from "./Geo.ts"

/** English names of countries as people and other services write them, beside the ISO codes of `Geo`. */

/** One spelling of a name: no case, accents or punctuation, `&` as `and`, and nothing of what stands in parentheses. */
const plain = (name: string): string =>
  name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll("&", " and ")
    .replaceAll(/\([^)]*\)/g, " ")
    .replaceAll(/[^a-z ]/g, "")
    .replaceAll(/\bst\b/g, "saint")
    .replaceAll(/ +/g, " ")
    .trim()

/** Names beside those of CLDR. */
const otherNames: Readonly<Record<string, string>> = {
  america: "us",
  usa: "us",
  "united states of america": "us",
  "great britain": "gb",
  britain: "gb",
  england: "gb",
  uk: "gb",
  "czech republic": "cz",
  turkey: "tr",
  "hong kong": "hk",
  macau: "mo",
  macao: "mo",
  burma: "mm",
  "congo republic": "cg",
  "republic of the congo": "cg",
  congo: "cg",
  "democratic republic of the congo": "cd",
  "ivory coast": "ci",
  "cabo verde": "cv",
  swaziland: "sz",
  eswatini: "sz",
  palestine: "ps",
  "the bahamas": "bs",
  "the gambia": "gm",
  "the netherlands": "nl",
  holland: "nl",
  korea: "kr",
  "republic of korea": "kr",
  "russian federation": "ru",
  macedonia: "mk",
  "east timor": "tl",
  "viet nam": "vn",
  "brunei darussalam": "bn",
  uae: "ae"
}

/** The longest name that is read. */
const maxNameUnits = 100

const makeCodes = (): ReadonlyMap<string, string> => {
  const names = new Intl.DisplayNames(["en"], { type: "region" })
  const cldr = geos.map((geo) => [plain(names.of(geo.toUpperCase()) ?? geo), geo] as const)
  return new Map([...Object.entries(otherNames), ...cldr])
}

/**
 * Returns the supported code for a common name such as `uk`; undefined for other text. It does not use CLDR's names, because
 * loading them takes a fifth of a second.
 */
export const nearestCode = (text: string): string | undefined => {
  const name = text.length > maxNameUnits ? "" : plain(text)
  return Object.hasOwn(otherNames, name) ? otherNames[name] : undefined
}

let codes: ReadonlyMap<string, string> | undefined

/**
 * The supported code of a country that is written as its ISO code or its English name. The names are made when the first
 * is asked for, because most deployments never ask.
 */
export const countryCode = (text: string): string | undefined => {
  const code = parseGeo(text)
  if (code !== undefined || text.length > maxNameUnits) return code
  codes ??= makeCodes()
  return codes.get(plain(text))
}
