import type { Document } from "./Document.ts"
import {
  bareTags,
  capital,
  describe,
  fields,
  markdownText,
  maxDescriptionChars,
  oneLine,
  shorten,
  string
} from "./Document.ts"
import type { Package } from "./Packages.ts"

/** https://caniuse.com: a page for each feature. */
export const caniuseDocuments = (caniuse: Package): ReadonlyArray<Document> => {
  const { data, statuses } = fields(caniuse.json("data.json"))
  return Object.entries(fields(data)).map(([id, value]) => {
    const feature = fields(value)
    const status = string(fields(statuses)[string(feature.status)])
    const title = oneLine(bareTags(string(feature.title)))
    return {
      url: `https://caniuse.com/${id}`,
      title: `${title} | Can I use... Support tables for HTML5, CSS3, etc`,
      description: describe(
        capital(markdownText(string(feature.description))),
        `Browser support tables for ${title}${status === "" || status === "Other" ? "" : ` (${status})`}`
      )
    }
  })
}

const maxExcerptChars = 120
const minExcerptChars = 60

/** The opening words of a license, after its name, dates and copyright lines. */
const licenseExcerpt = (text: string, roomChars: number): string => {
  const paragraphs = text.split(/\n\s*\n/).map((part) => oneLine(bareTags(part)))
  const isProse = (part: string): boolean =>
    part.length > 80 &&
    !/^(\w{1,3}[.)]|\W|copyright|\(c\)|©|version|everyone is permitted)/i.test(part) &&
    /[a-z]{3} [a-z]/.test(part)
  return roomChars < minExcerptChars
    ? ""
    : shorten(paragraphs.find(isProse) ?? "", Math.min(roomChars, maxExcerptChars)).replace(/:$/, "…")
}

/** https://spdx.org/licenses: a page for each license. */
export const spdxDocuments = (spdx: Package): ReadonlyArray<Document> =>
  Object.entries(fields(spdx.json("spdx-full.json"))).map(([id, value]) => {
    const license = fields(value)
    const name = oneLine(string(license.name))
    const kind =
      license.osiApproved === true
        ? "an open source license approved by the Open Source Initiative"
        : "a license on the SPDX License List"
    const lead = `${name} (SPDX identifier ${id}), ${kind}`
    const opening = "It begins: "
    const room = maxDescriptionChars - lead.length - opening.length - " . “”.".length
    const excerpt = licenseExcerpt(string(license.licenseText), room)
    return {
      url: `https://spdx.org/licenses/${id}.html`,
      title: `${name} | Software Package Data Exchange (SPDX)`,
      description: describe(lead, excerpt === "" ? "" : `${opening}“${excerpt}”`)
    }
  })

const frontMatter = (text: string): Readonly<Record<string, string>> => {
  const head = /^---\n(.*?)\n---/s.exec(text)?.[1] ?? ""
  const found: Record<string, string> = {}
  for (const [, key = "", value = ""] of head.matchAll(/^(\w+):[ \t]*(.+(?:\n[ \t]+\S.*)*)$/gm)) {
    found[key] = oneLine(value.replace(/^[>|]-?\s*\n/, "")).replace(/^(["'])(.*)\1$/, "$2")
  }
  return found
}

/** The first paragraph of prose, after removing headings, lists, code, tables, tags and front matter. */
const firstParagraph = (markdown: string): string => {
  const body = markdown
    .replace(/^---\n.*?\n---/s, "")
    .replace(/```.*?```/gs, "")
    .replace(/<!--.*?-->/gs, "")
  const isProse = (part: string): boolean => part.length > 40 && !/^([#>|<{!\-*+]|\d+\. |import |export )/.test(part)
  return markdownText(
    body
      .split(/\n\s*\n/)
      .map((part) => part.trim())
      .find(isProse) ?? ""
  ).replace(/:$/, ".")
}

/** "01-app/02-guides/index.md" as the site's "app/guides". */
const sitePath = (file: string): string =>
  file
    .replace(/\.mdx?$/, "")
    .split("/")
    .map((part) => part.replace(/^\d+-/, ""))
    .join("/")
    .replace(/(^|\/)index$/, "")

interface Manual {
  readonly package: Package
  readonly folder: string
  readonly site: string
  readonly title: (title: string, path: string) => string
  /** A page without a description is described by its first paragraph. */
  readonly describesItself?: boolean
  /** Paths of pages that are not worth finding. */
  readonly leavesOut?: RegExp
}

/** Pages of a manual whose Markdown sources carry a title and a description. */
const manualDocuments = (manual: Manual): ReadonlyArray<Document> => {
  const files = manual.package.paths.filter((path) => path.startsWith(manual.folder) && /\.mdx?$/.test(path))
  return files.flatMap((file) => {
    const text = manual.package.text(file)
    const { title = "", source = "", description = "" } = frontMatter(text)
    const path = sitePath(file.slice(manual.folder.length))
    // A page that shares another's text names it and carries only a title.
    const origin =
      source === "" ? undefined : files.find((other) => sitePath(other.slice(manual.folder.length)) === source)
    const shared = origin === undefined ? "" : manual.package.text(origin)
    const own = description || frontMatter(shared).description || ""
    const told = own || (manual.describesItself === true ? firstParagraph(text) : "")
    if (title === "" || told === "" || manual.leavesOut?.test(path) === true) return []
    return [
      {
        url: `${manual.site}${path}`.replace(/\/$/, ""),
        title: manual.title(bareTags(title), path),
        description: describe(capital(markdownText(told)), firstParagraph(origin === undefined ? text : shared))
      }
    ]
  })
}

export const nextDocuments = (next: Package): ReadonlyArray<Document> =>
  manualDocuments({
    package: next,
    folder: "dist/docs/",
    site: "https://nextjs.org/docs/",
    title: (title, path) => {
      const router = path.startsWith("pages/") ? " (Pages Router)" : ""
      return /next\.js/i.test(title) ? `${title}${router}` : `${title}${router} | Next.js`
    }
  })

export const bunDocuments = (bun: Package): ReadonlyArray<Document> =>
  manualDocuments({
    package: bun,
    folder: "docs/",
    site: "https://bun.com/docs/",
    title: (title) => (/\bbun\b/i.test(title) ? title : `${title} | Bun`),
    describesItself: true,
    leavesOut: /^(lint|snippets|project|format|feedback)(\/|$)/
  })

/** "ai-sdk-ui" as the site heads it, "AI SDK UI". */
const sectionTitle = (folder: string): string =>
  folder
    .split("-")
    .map((word) => (word.length <= 3 ? word.toUpperCase() : capital(word)))
    .join(" ")

export const aiDocuments = (ai: Package): ReadonlyArray<Document> =>
  manualDocuments({
    package: ai,
    folder: "docs/",
    site: "https://ai-sdk.dev/docs/",
    title: (title, path) => {
      const [first = "", second = "", third] = path.split("/")
      const section = sectionTitle(first === "reference" && third !== undefined ? second : first)
      if (second === "" || title.includes(section)) return title.includes("AI SDK") ? title : `${title} | AI SDK`
      return section.startsWith("AI SDK") ? `${section}: ${title}` : `${section}: ${title} | AI SDK`
    }
  })

export const fastifyDocuments = (fastify: Package): ReadonlyArray<Document> =>
  fastify.paths
    .filter((path) => /^docs\/(Guides|Reference)\/(?!Index)[\w-]+\.md$/.test(path))
    .flatMap((file) => {
      const text = fastify.text(file)
      const banner = /^<h1[^>]*>(.*?)<\/h1>/m.exec(text)?.[1] ?? ""
      const heading = /^##? +(.+)$/m.exec(text.replace(/```.*?```/gs, ""))?.[1] ?? ""
      const title = banner === "" || banner === "Fastify" ? heading : banner
      const told = firstParagraph(text)
      if (title === "" || told === "") return []
      const [area = "", page = ""] = file.replace(/^docs\/|\.md$/g, "").split("/")
      return [
        {
          url: `https://fastify.dev/docs/latest/${area}/${page}/`,
          title: `${markdownText(title)} | Fastify`,
          description: describe(told)
        }
      ]
    })

const unquote = (literal: string): string => literal.slice(1, -1).replace(/\\(.)/g, "$1")

/** The description in a rule's source: the first string under `docs`. */
const ruleDescription = (source: string): string =>
  unquote(/\bdocs: \{.*?\bdescription:\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)/s.exec(source)?.[1] ?? "  ")

const isDeprecatedRule = (source: string): boolean => /^\s*deprecated: (true|\{)/m.test(source)

interface RuleSet {
  readonly package: Package
  readonly file: RegExp
  readonly document: (rule: string, description: string, deprecated: string) => Document
}

const ruleDocuments = (rules: RuleSet): ReadonlyArray<Document> =>
  rules.package.paths.flatMap((path) => {
    const rule = rules.file.exec(path)?.[1]
    if (rule === undefined) return []
    const source = rules.package.text(path)
    const description = markdownText(ruleDescription(source))
    const deprecated = isDeprecatedRule(source) ? "The rule is deprecated" : ""
    return description === "" ? [] : [rules.document(rule, description, deprecated)]
  })

export const eslintDocuments = (eslint: Package): ReadonlyArray<Document> =>
  ruleDocuments({
    package: eslint,
    file: /^lib\/rules\/([a-z-]+)\.js$/,
    document: (rule, description, deprecated) => ({
      url: `https://eslint.org/docs/latest/rules/${rule}`,
      title: `${rule} - ESLint - Pluggable JavaScript Linter`,
      description: describe(description, deprecated, `The ${rule} rule of ESLint, the linter for JavaScript`)
    })
  })

export const typescriptEslintDocuments = (plugin: Package): ReadonlyArray<Document> =>
  ruleDocuments({
    package: plugin,
    file: /^dist\/rules\/([a-z-]+)\.js$/,
    document: (rule, description, deprecated) => ({
      url: `https://typescript-eslint.io/rules/${rule}/`,
      title: `${rule} | typescript-eslint`,
      description: describe(
        description,
        deprecated,
        `The ${rule} rule of typescript-eslint, for linting TypeScript with ESLint`
      )
    })
  })

export const unicornDocuments = (unicorn: Package): ReadonlyArray<Document> => {
  const row = /^\| \[([\w-]+)\]\((docs\/rules\/[\w-]+\.md)\)\s*\|\s*(.*?)\s*\|/gm
  return [...unicorn.text("readme.md").matchAll(row)].map(([, rule = "", path = "", description = ""]) => ({
    url: `https://github.com/sindresorhus/eslint-plugin-unicorn/blob/main/${path}`,
    title: `${rule} - eslint-plugin-unicorn`,
    description: describe(markdownText(description), `The unicorn/${rule} rule for ESLint`)
  }))
}

const ruleAddress = /\s*See (https:\/\/biomejs\.dev\/linter\/rules\/([a-z0-9-]+))\/?\s*$/

/** Every rule in the configuration schema, in all groups that list it, including rules in the nursery. */
export const biomeDocuments = (biome: Package): ReadonlyArray<Document> => {
  const definitions = fields(fields(biome.json("configuration_schema.json")).$defs)
  return Object.entries(definitions).flatMap(([group, definition]) =>
    Object.entries(fields(fields(definition).properties)).flatMap(([rule, property]) => {
      const description = string(fields(property).description)
      const url = ruleAddress.exec(description)?.[1]
      if (url === undefined) return []
      return [
        {
          url: `${url}/`,
          title: `${rule} | Biome`,
          description: describe(
            markdownText(description.replace(ruleAddress, "")),
            `The ${rule} lint rule of Biome${/^[A-Z]\w+$/.test(group) ? `, in its ${group.toLowerCase()} group` : ""}`
          )
        }
      ]
    })
  )
}
