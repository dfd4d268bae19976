import { parseGeo } from "./Geo.ts"

/** A language as clients of other services name it, in the two fields that a search has for it. */
export interface LanguagePlace {
  readonly locale?: string
  readonly geo?: string
}

/** The longest tag that is read: parsing takes time in proportion. */
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

/**
 * The locale and country of a language tag such as `de`, `de-AT` or `zh_Hans_CN`; undefined for text that is none. Without
 * a country the likely one by CLDR stands in (R43). What the API has no form for, such as a language of three letters or a
 * country that is not supported, is left out.
 */
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
