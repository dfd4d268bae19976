import type { Document } from "./Document.ts"
import { bareTags, describe, fields, list, oneLine, string } from "./Document.ts"
import type { Package } from "./Packages.ts"

/** A page in the list of all MDN pages: its title, address and type. */
interface Page {
  readonly slug: string
  readonly title: string
  readonly kind: string
}

const docs = "https://developer.mozilla.org/en-US/docs/"

/** Pages about MDN or about releases of Firefox, and exercises. Status codes are described from the registry. */
const isLeftOut = ({ slug, kind }: Page): boolean =>
  /^(MDN|Related|Mozilla\/Firefox)(\/|$)/.test(slug) || /^(learn-module-assessment|http-status-code)$/.test(kind)

const readPages = (inventory: Package): ReadonlyArray<Page> =>
  list(fields(inventory.json("index.json")).inventory).map((entry) => {
    const frontMatter = fields(fields(entry).frontmatter)
    return {
      slug: string(frontMatter.slug),
      title: oneLine(bareTags(string(frontMatter.title))),
      kind: string(frontMatter["page-type"])
    }
  })

const areas: ReadonlyArray<readonly [prefix: string, name: string]> = [
  ["Glossary/", "Glossary"],
  ["Learn_web_development", "Learn web development"],
  ["Web/API", "Web APIs"],
  ["Web/CSS", "CSS"],
  ["Web/HTML", "HTML"],
  ["Web/HTTP", "HTTP"],
  ["Web/JavaScript", "JavaScript"],
  ["Web/SVG", "SVG"],
  ["Web/XML", "XML"],
  ["Web/Accessibility", "Accessibility"],
  ["Web/Security", "Security"],
  ["Web/Performance", "Web performance"],
  ["Web/Progressive_web_apps", "Progressive web apps"],
  ["WebAssembly", "WebAssembly"],
  ["Games", "Game development"],
  ["Mozilla/Add-ons", "Browser extensions"]
]

const areaOf = (slug: string): string => areas.find(([prefix]) => slug.startsWith(prefix))?.[1] ?? "Web"

/** Names that only sort pages and say nothing about their subject. */
const isShelf = (title: string): boolean =>
  /^(web technology for developers|guides|reference|tutorials?|how[ -]to|css guides|css tutorials|core learning modules|extension modules)$/i.test(
    title
  )

/** The subjects that a page lies under, the widest first. */
const subjectsOf = (slug: string, titles: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  const parts = slug.split("/").slice(0, -1)
  return parts
    .map((_, index) => titles.get(parts.slice(0, index + 1).join("/")) ?? "")
    .filter((title) => title !== "" && !isShelf(title))
    .slice(-2)
}

const leadOf = ({ title, kind, slug }: Page, subjects: ReadonlyArray<string>): string => {
  const under = subjects.length === 0 ? areaOf(slug) : subjects.join(": ")
  if (kind.startsWith("glossary")) return `${title}, a term of web development, defined in the glossary`
  if (kind === "javascript-error") return `The JavaScript error “${title}”: what causes it and how to fix it`
  if (kind === "http-cors-error")
    return `The CORS error “${title}”: why a cross-origin request was blocked and how to fix it`
  if (kind.startsWith("learn")) return `${title}, a lesson for learning web development. Part of ${under}`
  if (kind.startsWith("tutorial")) return `${title}, a part of the tutorial ${under}`
  if (/^(guide|how-to|landing-page|css-module|web-api-overview)$/.test(kind)) return `${title}, a guide to ${under}`
  return `${title}, a page about ${under}`
}

const titleOf = ({ title, slug }: Page): string => `${title} - ${areaOf(slug)} | MDN`

/** The titles of all pages of MDN, by address. */
export const mdnTitles = (inventory: Package): ReadonlyMap<string, string> =>
  new Map(readPages(inventory).map((page) => [`${docs}${page.slug}`, titleOf(page)]))

/** Every page of MDN in the list: guides, lessons, glossary, errors and roles, besides the pages of the reference. */
export const mdnPageDocuments = (inventory: Package): ReadonlyArray<Document> => {
  const pages = readPages(inventory)
  const titles = new Map(pages.map(({ slug, title }) => [slug, title]))
  return pages
    .filter((page) => !isLeftOut(page))
    .map((page) => ({
      url: `${docs}${page.slug}`,
      title: titleOf(page),
      description: describe(leadOf(page, subjectsOf(page.slug, titles)))
    }))
}
