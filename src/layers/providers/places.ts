import { geos } from "../../domain/search/Geo.ts"

/*
 * Every country, region and language that Quarry sends to a provider, from the list that the provider publishes. A value
 * that is not in its list is left out: some providers refuse the whole search for one. Keys are the types of the provider
 * file, with the engine where each has its own list.
 */

export interface Place {
  /** ISO 3166-1 alpha-2 in lower case. Undefined if the provider takes none. */
  readonly country: string | undefined
  /** ISO 639-1. Undefined if the provider takes none. */
  readonly language: string | undefined
  readonly locale: string
}

interface PlaceParameter {
  /** The published list, and when it was read. */
  readonly source: string
  readonly readOn: string
  readonly values: ReadonlySet<string>
  /** The values that fit a search, the best first. The first listed one is sent. */
  readonly candidates: (place: Place) => ReadonlyArray<string>
}

const listed = (values: string): ReadonlySet<string> => new Set(values.split(" "))
const upperCase = (values: Iterable<string>): ReadonlySet<string> =>
  new Set(Array.from(values, (value) => value.toUpperCase()))

const isoLanguages = listed(
  "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es " +
    "et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki " +
    "kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no " +
    "nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te " +
    "tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)

const isoCountries: ReadonlySet<string> = new Set(geos)

const isTraditional = (locale: string): boolean => /-(tw|hk|mo)$/.test(locale)

const country = ({ country }: Place): ReadonlyArray<string> => (country === undefined ? [] : [country])
const upperCountry = (place: Place): ReadonlyArray<string> => country(place).map((code) => code.toUpperCase())
const upperLanguage = ({ language }: Place): ReadonlyArray<string> =>
  language === undefined ? [] : [language.toUpperCase()]

/** Google's own name of a language comes first: its list has both names of Hebrew. */
const googleLanguage = ({ language, locale }: Place): ReadonlyArray<string> => {
  if (language === undefined) return []
  if (language === "zh") return [isTraditional(locale) ? "zh-tw" : "zh-cn"]
  const others: Readonly<Record<string, string>> = { he: "iw", nb: "no", jv: "jw" }
  return [...(Object.hasOwn(others, language) ? [others[language] ?? ""] : []), language]
}

const google = {
  gl: {
    source: "https://github.com/serpapi/serpapi-mcp/blob/11cbc469/engines/google.json",
    readOn: "2026-11-28",
    values: listed(
      "af al dz as ad ao ai aq ag ar am aw au at az bs bh bd bb by be bz bj bm bt bo ba bw bv br io bn bg bf bi " +
        "kh cm ca cv ky cf td cl cn cx cc co km cg cd ck cr ci hr cu cy cz dk dj dm do ec eg sv gq er ee et fk fo " +
        "fj fi fr gf pf tf ga gm ge de gh gi gr gl gd gp gu gt gg gn gw gy ht hm va hn hk hu is in id ir iq ie im " +
        "il it je jm jp jo kz ke ki kp kr kw kg la lv lb ls lr ly li lt lu mo mk mg mw my mv ml mt mh mq mr mu yt " +
        "mx fm md mc mn me ms ma mz mm na nr np nl an nc nz ni ne ng nu nf mp no om pk pw ps pa pg py pe ph pn pl " +
        "pt pr qa re ro ru rw sh kn lc pm vc ws sm st sa sn rs sc sl sg sk si sb so za gs es lk sd sr sj sz se ch " +
        "sy tw tj tz th tl tg tk to tt tn tr tm tc tv ug ua ae uk gb us um uy uz vu ve vn vg vi wf eh ye zm zw"
    ),
    candidates: country
  },
  hl: {
    source: "https://github.com/serpapi/serpapi-mcp/blob/11cbc469/engines/google.json",
    readOn: "2026-11-28",
    values: listed(
      "af ak sq ws am ar hy az eu be bem bn bh xx-bork bs br bg bt km ca chr ny zh-cn zh-tw co hr cs da nl " +
        "xx-elmer en eo et ee fo tl fi fr fy gaa gl ka de el kl gn gu xx-hacker ht ha haw iw he hi hu is ig id ia " +
        "ga it ja jw kn kk rw rn xx-klingon kg ko kri ku ckb ky lo la lv ln lt loz lg ach mk mg ms ml mt mv mi mr " +
        "mfe mo mn sr-me my ne pcm nso no nn oc or om ps fa xx-pirate pl pt pt-br pt-pt pa qu ro rm nyn ru gd sr sh " +
        "st tn crs sn sd si sk sl so es es-419 su sw sv tg ta tt te th ti to lua tum tr tk tw ug uk ur uz vu vi cy " +
        "wo xh yi yo zu"
    ),
    candidates: googleLanguage
  }
} satisfies Readonly<Record<string, PlaceParameter>>

const braveLanguage = ({ language, locale }: Place): ReadonlyArray<string> => {
  if (language === undefined) return []
  if (language === "zh") return [isTraditional(locale) ? "zh-hant" : "zh-hans"]
  if (language === "pt") return [locale === "pt-pt" ? "pt-pt" : "pt-br"]
  const others: Readonly<Record<string, string>> = { ja: "jp", no: "nb" }
  return [locale, Object.hasOwn(others, language) ? (others[language] ?? "") : language]
}

/** DuckDuckGo's regions have its own names for some countries and languages. */
const duckDuckGoRegion = ({ country, language }: Place): ReadonlyArray<string> => {
  if (country === undefined) return []
  const region = country === "gb" ? "uk" : country === "si" ? "sl" : country
  const ofCountry: Readonly<Record<string, string>> = {
    hk: "hk-tzh",
    jp: "jp-jp",
    kr: "kr-kr",
    no: "no-no",
    sl: "sl-sl",
    tw: "tw-tzh"
  }
  const usual = country !== "sl" && Object.hasOwn(ofCountry, region) ? [ofCountry[region] ?? ""] : []
  const spoken: Readonly<Record<string, string>> = { hk: "zh", jp: "ja", kr: "ko", sl: "sl", tw: "zh" }
  const isSpoken = spoken[region] === language || (region === "no" && /^(nb|nn|no)$/.test(language ?? ""))
  // "sl" is Slovenia there, and Sierra Leone everywhere else.
  return country === "sl" ? [] : [`${region}-${language}`, ...(isSpoken ? usual : [])]
}

const yahooLanguage = ({ language, locale }: Place): ReadonlyArray<string> => {
  if (language === "zh") return [isTraditional(locale) ? "lang_zh_cht" : "lang_zh_chs"]
  return language === undefined ? [] : [`lang_${language === "nb" ? "no" : language}`]
}

export const placeParameters: Readonly<Record<string, Readonly<Record<string, PlaceParameter>>>> = {
  brave: {
    country: {
      source: "https://github.com/brave/brave-search-mcp-server/blob/2748b47a/src/tools/web/params.ts",
      readOn: "2026-11-28",
      values: listed(
        "ALL AR AU AT BE BR CA CL DK FI FR DE HK IN ID IT JP KR MY MX NL NZ NO CN PL PT PH RU SA ZA ES SE CH TW TR GB US"
      ),
      candidates: (place) => [...upperCountry(place), "ALL"]
    },
    search_lang: {
      source: "https://github.com/brave/brave-search-mcp-server/blob/2748b47a/src/tools/web/params.ts",
      readOn: "2026-11-28",
      values: listed(
        "ar eu bn bg ca zh-hans zh-hant hr cs da nl en en-gb et fi fr gl de gu he hi hu is it jp kn ko lv lt ms ml mr nb " +
          "pl pt-br pt-pt pa ro ru sr sk sl es sv ta te th tr uk vi"
      ),
      candidates: braveLanguage
    }
  },
  serper: google,
  "serpapi/google": google,
  "serpapi/bing": {
    cc: {
      source: "https://github.com/serpapi/serpapi-mcp/blob/11cbc469/engines/bing.json",
      readOn: "2026-11-28",
      values: listed(
        "AR AU AT BE BR CA CL DK FI FR DE HK IN ID IT JP KR MY MX NL NZ NO CN PL PT PH RU SA ZA ES SE CH TW TR GB US"
      ),
      candidates: upperCountry
    }
  },
  "serpapi/duckduckgo": {
    kl: {
      source: "https://github.com/serpapi/serpapi-mcp/blob/11cbc469/engines/duckduckgo.json",
      readOn: "2026-11-28",
      values: listed(
        "ar-es au-en at-de be-fr be-nl br-pt bg-bg ca-en ca-fr ct-ca cl-es cn-zh co-es hr-hr cz-cs dk-da ee-et " +
          "fi-fi fr-fr de-de gr-el hk-tzh hu-hu is-is in-en id-en ie-en il-en it-it jp-jp kr-kr lv-lv lt-lt my-en " +
          "mx-es nl-nl nz-en no-no pk-en pe-es ph-en pl-pl pt-pt ro-ro ru-ru xa-ar sg-en sk-sk sl-sl za-en es-ca " +
          "es-es se-sv ch-de ch-fr tw-tzh th-en tr-tr us-en us-es ua-uk uk-en vn-en wt-wt"
      ),
      candidates: duckDuckGoRegion
    }
  },
  "serpapi/yandex": {
    lang: {
      source: "https://github.com/serpapi/serpapi-mcp/blob/11cbc469/engines/yandex.json",
      readOn: "2026-11-28",
      values: listed("ru en be kk tr uk"),
      candidates: ({ language }) => (language === undefined ? [] : [language])
    }
  },
  "serpapi/yahoo": {
    vc: {
      source: "https://github.com/serpapi/serpapi-mcp/blob/11cbc469/engines/yahoo.json",
      readOn: "2026-11-28",
      values: listed(
        "al dz ar am au at az bh be bo ba br bg ca cl cn co cr hr cz dk do ec eg sv ee fi mk fr ge de gr gt hn hk " +
          "hu is in id ir iq ie il it jp jo ke kr kw lv lb ly lt lu my mt mx ma nl nz ni no om pk pa py pe ph pl pt " +
          "pr qa ro ru sa sp sg sk sl za es se ch sy tw th tn tr ae ua gb us vn ye"
      ),
      candidates: country
    },
    vl: {
      source: "https://github.com/serpapi/serpapi-mcp/blob/11cbc469/engines/yahoo.json",
      readOn: "2026-11-28",
      values: listed(
        "lang_ar lang_bg lang_zh_chs lang_zh_cht lang_hr lang_cs lang_da lang_nl lang_en lang_et lang_fi lang_fr lang_de " +
          "lang_el lang_he lang_hu lang_it lang_ja lang_ko lang_lv lang_lt lang_no lang_pl lang_pt lang_ro lang_ru lang_sk " +
          "lang_sl lang_es lang_sv lang_th lang_tr"
      ),
      candidates: yahooLanguage
    }
  },
  mojeek: {
    rb: {
      source: "https://www.mojeek.com/services/search/web-search-api (ISO 3166-1 alpha-2)",
      readOn: "2026-11-27",
      values: upperCase(isoCountries),
      candidates: upperCountry
    },
    lb: {
      source: "https://www.mojeek.com/services/search/web-search-api (ISO 639-1)",
      readOn: "2026-11-27",
      values: upperCase(isoLanguages),
      candidates: upperLanguage
    }
  },
  openserp: {
    region: {
      source: "https://github.com/karust/openserp (ISO 3166-1 alpha-2)",
      readOn: "2026-11-27",
      values: upperCase(isoCountries),
      candidates: upperCountry
    },
    lang: {
      source: "https://github.com/karust/openserp (ISO 639-1)",
      readOn: "2026-11-27",
      values: upperCase(isoLanguages),
      candidates: upperLanguage
    }
  }
}

/** The parameters of a provider for a place. One without a listed value is undefined, and is not sent. */
export const placeOf = (provider: string, place: Place): Readonly<Record<string, string | undefined>> => {
  const parameters = Object.hasOwn(placeParameters, provider) ? placeParameters[provider] : undefined
  return Object.fromEntries(
    Object.entries(parameters ?? {}).map(([name, { candidates, values }]) => [
      name,
      candidates(place).find((value) => values.has(value))
    ])
  )
}

/** The countries for which a provider has a value of its own. */
export const countriesOf = (provider: string, parameter: string): ReadonlyArray<string> => {
  const { candidates, values } = placeParameters[provider]?.[parameter] ?? { candidates: () => [], values: new Set() }
  return geos.filter((geo) => values.has(candidates({ country: geo, language: undefined, locale: "" })[0] ?? ""))
}

/** The languages for which a provider has a value. */
export const languagesOf = (provider: string, parameter: string): ReadonlyArray<string> =>
  [...isoLanguages].filter(
    (language) => placeOf(provider, { country: undefined, language, locale: "" })[parameter] !== undefined
  )
