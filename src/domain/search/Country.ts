import { geos, parseGeo } from "./Geo.ts"

/** Normalizes a name: removes case, accents, punctuation and parenthesized text, and writes `&` as `and`. */
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

const maxNameUnits = 100

const makeCodes = (): ReadonlyMap<string, string> => {
  const names = new Intl.DisplayNames(["en"], { type: "region" })
  const cldr = geos.map((geo) => [plain(names.of(geo.toUpperCase()) ?? geo), geo] as const)
  return new Map([...Object.entries(otherNames), ...cldr])
}

/** Returns the code for a common name such as `uk`. Does not use CLDR's names, because loading them takes 200 ms. */
export const nearestCode = (text: string): string | undefined => {
  const name = text.length > maxNameUnits ? "" : plain(text)
  return Object.hasOwn(otherNames, name) ? otherNames[name] : undefined
}

let codes: ReadonlyMap<string, string> | undefined

/** Accepts ISO codes and English names. Loads CLDR's names on first use, because few deployments need them. */
export const countryCode = (text: string): string | undefined => {
  const code = parseGeo(text)
  if (code !== undefined || text.length > maxNameUnits) return code
  codes ??= makeCodes()
  return codes.get(plain(text))
}
