import { parseGeo } from "./Geo.ts"

export interface LanguagePlace {
  readonly locale?: string
  readonly geo?: string
}

/** Parsing time grows with the length of the tag. */
const maxTagUnits = 64

const parseTag = (tag: string): Intl.Locale | undefined => {
  if (tag.length > maxTagUnits) return undefined
  try {
    return new Intl.Locale(tag.replaceAll("_", "-"))
  } catch {
    return undefined
  }
}

const isTwoLetters = (text: string | undefined): text is string => text !== undefined && /^[a-z]{2}$/i.test(text)

/** Accepts tags such as `de-AT` and `zh_Hans_CN`. Without a country, CLDR's likely country applies (R43). */
export const placeOfLanguage = (tag: string): LanguagePlace | undefined => {
  const written = parseTag(tag)
  if (written === undefined) return undefined
  const { region, script } = written
  const likely = new Intl.Locale(written.language || "und", script === undefined ? {} : { script }).maximize()
  return toPlace(written.language, isTwoLetters(region) ? region : likely.region)
}

const toPlace = (language: string | undefined, region: string | undefined): LanguagePlace => {
  if (!isTwoLetters(region)) return {}
  const geo = parseGeo(region)
  return {
    ...(isTwoLetters(language) ? { locale: `${language}-${region}`.toLowerCase() } : {}),
    ...(geo === undefined ? {} : { geo })
  }
}
