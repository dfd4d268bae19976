/** ISO 3166-1 alpha-2, in the order of the interface specification. */
export const geos: ReadonlyArray<string> = (
  "us in gb ca au de fr sg ae jp " +
  "ad af ag al am ao ar at aw az ba bb bd be bf bg bh bi bj bn bo br bs bw by bz cd cg ch ci cl cm cn co cr cu cv cy " +
  "cz dk do dz ec ee eg es et fi fj fm fo ga gd ge gf gg gh gm gp gq gr gt gu gy hk hn hr ht hu id ie il iq ir is it " +
  "jm jo ke kg kh km kn kr kw ky kz la lb lc lk lr ls lt lu lv ly ma md me mg mk ml mm mn mo mp mq mr mt mu mv mw mx " +
  "my mz na nc ne ng ni nl no np nz om pa pe pf pg ph pk pl pr ps pt pw py qa re ro rs ru rw sa sb sd se si sk sl sn " +
  "so sr st sv sy sz td tg th tj tl tn to tr tt tw tz ua ug uy uz vc ve vg vi vn vu ye za zm zw"
).split(" ")

const supported: ReadonlySet<string> = new Set(geos)

export const defaultGeo = "us"

export const parseGeo = (text: string): string | undefined => {
  // Excludes U+212A (Kelvin sign), whose lower case is an ASCII `k`: with "e" it would be Kenya.
  if (!/^[A-Za-z]{2}$/.test(text)) return undefined
  const code = text.toLowerCase()
  return supported.has(code) ? code : undefined
}

/** The country's likely language by CLDR, or else `en`; English for India (R9). */
export const defaultLocale = (geo: string): string => {
  if (geo === "in") return "en-in"
  const language = new Intl.Locale(`und-${geo.toUpperCase()}`).maximize().language
  return `${language !== undefined && language.length === 2 ? language : "en"}-${geo}`
}

/** Computed once, because CLDR lookups are too slow for each request. */
export const defaultLocales: ReadonlyMap<string, string> = new Map(geos.map((geo) => [geo, defaultLocale(geo)]))
