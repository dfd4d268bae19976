import type { ParsedPage } from "../../../domain/pages/Page.ts"
import { visibleText } from "../../../domain/pages/visibleText.ts"
import { readPublished } from "../published.ts"
import { attribute, oneLine, type Root, textOf, textsOf, walk } from "./Tree.ts"

export interface Metadata
  extends Pick<ParsedPage, "title" | "description" | "author" | "siteName" | "published" | "language"> {
  readonly isArticle: boolean
}

const maxCharacters = 2_000
const maxObjects = 2_000

const clean = (value: string | null | undefined): string | undefined =>
  oneLine(visibleText(value ?? ""))
    .slice(0, maxCharacters)
    .replace(/\p{Cs}$/u, "") || undefined

type JsonObject = { readonly [name: string]: unknown }
const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const readJsonLd = (scripts: ReadonlyArray<string>): ReadonlyArray<JsonObject> => {
  const found: Array<JsonObject> = []
  for (const script of scripts) {
    let waiting: Array<unknown>
    try {
      waiting = [JSON.parse(script.replace(/^\s*(?:<!--|\/\*.*?\*\/|<!\[CDATA\[)|(?:-->|\]\]>)\s*$/g, ""))]
    } catch {
      continue
    }
    for (const value of waiting) {
      if (found.length + waiting.length > maxObjects) break
      if (Array.isArray(value)) waiting.push(...value.slice(0, maxObjects))
      if (!isObject(value)) continue
      found.push(value)
      waiting.push(value["@graph"], value.mainEntity, value.mainEntityOfPage)
    }
  }
  return found
}

const typesOf = (object: JsonObject): string => [object["@type"]].flat().join(" ")
const articleType = /(?:Article|BlogPosting|Report|Review)\b/
const pageType = /(?:Article|Posting|Report|Review|WebPage|QAPage|Question|Recipe|Product|Event|Movie|Book)\b/

const nameOf = (value: unknown): string | undefined => {
  if (typeof value === "string") return /^https?:/i.test(value) ? undefined : clean(value)
  if (Array.isArray(value))
    return (
      value
        .slice(0, 10)
        .flatMap((each) => nameOf(each) ?? [])
        .join(", ") || undefined
    )
  return isObject(value) ? nameOf(value.name) : undefined
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? clean(value) : undefined)

interface Head {
  readonly meta: ReadonlyMap<string, string>
  readonly jsonLd: ReadonlyArray<JsonObject>
  readonly title: string | undefined
  readonly heading: string | undefined
  readonly language: string | undefined
  readonly time: string | undefined
  readonly author: string | undefined
}

const readHead = (root: Root): Head => {
  const meta = new Map<string, string>()
  const scripts: Array<string> = []
  let [title, heading, language, time, author]: Array<string | undefined> = []
  let isTimeStated = false
  walk(root, (element) => {
    const name = element.tagName
    const property = attribute(element, "itemprop")?.toLowerCase() ?? ""
    const isPublication = /\bdatepublished\b/.test(property) || attribute(element, "pubdate") !== undefined
    if (name === "meta") {
      const key = (
        attribute(element, "property") ??
        attribute(element, "name") ??
        attribute(element, "http-equiv") ??
        property
      ).toLowerCase()
      const value = clean(attribute(element, "content"))
      if (key !== "" && value !== undefined && !meta.has(key)) meta.set(key, value)
    } else if (name === "script" && /^application\/ld\+json\b/i.test(attribute(element, "type") ?? "")) {
      scripts.push([...textsOf(element)].join(""))
    } else if (name === "title" && element.parentNode?.nodeName === "head") title ??= clean(textOf(element))
    else if (name === "h1") heading ??= clean(textOf(element))
    else if (name === "html") language = clean(attribute(element, "lang") ?? attribute(element, "xml:lang"))
    if (name === "time" && (time === undefined || (isPublication && !isTimeStated))) {
      time = readPublished(attribute(element, "datetime") ?? textOf(element)) ?? time
      isTimeStated = isPublication && time !== undefined
    }
    if (author === undefined && (attribute(element, "rel") === "author" || /\bauthor\b/.test(property))) {
      const name = clean(textOf(element).replace(/^by\s+/i, ""))
      if (name !== undefined && name.length <= 100) author = name
    }
    return true
  })
  return { meta, jsonLd: readJsonLd(scripts), title, heading, language, time, author }
}

const withoutSite = (title: string, site: string | undefined): string => {
  if (site === undefined) return title
  const at = title.lastIndexOf(site)
  const before = title.slice(0, at)
  return at > 0 && at + site.length === title.length && /\s[|\-–—·:»]\s*$/.test(before)
    ? before.replace(/\s[|\-–—·:»]\s*$/, "")
    : title
}

const languageTag = (tag: string | undefined): string | undefined => {
  const plain = tag?.split(",")[0]?.trim().replaceAll("_", "-") ?? ""
  return /^[a-z]{2,3}(?:-[a-z0-9]{2,8})*$/i.test(plain) ? plain : undefined
}

const dateNames =
  "article:published_time og:article:published_time datepublished dc.date dc.date.issued dcterms.created dcterms.date parsely-pub-date sailthru.date pubdate publishdate publish-date date citation_publication_date"
const authorNames =
  "author dc.creator dcterms.creator parsely-author sailthru.author byl citation_author article:author"

export const readMetadata = (root: Root): Metadata => {
  const { author, heading, jsonLd, language, meta, time, title } = readHead(root)
  const named = (names: string) => names.split(" ").flatMap((name) => meta.get(name) ?? [])
  const objects = jsonLd.filter((object) => pageType.test(typesOf(object)))
  const article = objects.find((object) => articleType.test(typesOf(object)))
  const about = article ?? objects[0]
  const site =
    meta.get("og:site_name") ??
    nameOf(jsonLd.find((object) => /\bWebSite\b/.test(typesOf(object)))) ??
    nameOf(about?.publisher) ??
    meta.get("application-name")
  const dates = [text(article?.datePublished), ...named(dateNames), text(about?.datePublished)]
  const isTitleHeading = heading !== undefined && title?.startsWith(heading) === true
  const stated =
    meta.get("og:title") ??
    text(article?.headline) ??
    (isTitleHeading ? heading : title) ??
    meta.get("twitter:title") ??
    heading
  return {
    title: stated === undefined ? null : withoutSite(stated, site),
    description:
      named("og:description description twitter:description dc.description")[0] ?? text(about?.description) ?? null,
    author: nameOf(about?.author) ?? named(authorNames).find((name) => !/^https?:/i.test(name)) ?? author ?? null,
    siteName: site ?? null,
    published: dates.flatMap((date) => (date === undefined ? [] : (readPublished(date) ?? [])))[0] ?? time ?? null,
    language:
      [language, text(about?.inLanguage), meta.get("content-language"), meta.get("og:locale")].flatMap(
        (tag) => languageTag(tag) ?? []
      )[0] ?? null,
    isArticle: article !== undefined || meta.get("og:type") === "article" || meta.has("article:published_time")
  }
}
