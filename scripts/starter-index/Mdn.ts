import type { Document, Fields } from "./Document.ts"
import {
  bareTags,
  capital,
  describe,
  enumerate,
  fields,
  htmlText,
  list,
  oneLine,
  sentence,
  string,
  strings,
  withArticle,
  withVersion,
  words
} from "./Document.ts"
import type { Package } from "./Packages.ts"
import type { Summaries } from "./Summaries.ts"
import type { Idl, Kinds } from "./WebKinds.ts"
import type { Feature, Specs } from "./WebPlatform.ts"
import { featureText } from "./WebPlatform.ts"

export interface MdnSources {
  readonly compat: Package
  readonly mdnData: Package
  readonly statuses: Package
  readonly features: ReadonlyMap<string, Feature>
  readonly specs: Specs
  readonly idl: Idl
  readonly ecmaScript: Kinds
  /** By the path of the page. */
  readonly summaries: Summaries
  /** By owner and member, as `readEcmaScriptSummaries` says. */
  readonly ecmaScriptSummaries: Summaries
}

/** A page of MDN with every entry of the compatibility data that names it, the page's own entry first. */
interface Page {
  /** Path below /docs/, split; the last one is the page's own name. */
  readonly segments: ReadonlyArray<string>
  readonly name: string
  readonly parent: string
  readonly path: ReadonlyArray<string>
  readonly paths: ReadonlyArray<ReadonlyArray<string>>
  readonly compat: Fields
  /** The entry's own description, empty if it has none. */
  readonly label: string
  readonly children: ReadonlyArray<string>
}

interface Face {
  readonly title: string
  readonly lead: string
  readonly details?: string
}

const docs = "https://developer.mozilla.org/docs/"

interface Entry {
  readonly path: ReadonlyArray<string>
  readonly compat: Fields
  readonly children: ReadonlyArray<string>
}

const isCurrent = (compat: Fields): boolean => fields(compat.status).deprecated !== true

const collect = (node: Fields, path: ReadonlyArray<string>, pages: Map<string, Array<Entry>>): void => {
  const url = string(fields(node.__compat).mdn_url)
  if (url.startsWith(docs)) {
    const children = Object.entries(node).filter(
      ([key, child]) => key !== "__compat" && isCurrent(fields(fields(child).__compat))
    )
    const entry = { path, compat: fields(node.__compat), children: children.map(([key]) => key) }
    pages.set(url, [...(pages.get(url) ?? []), entry])
  }
  for (const [key, child] of Object.entries(node)) {
    const isData = key !== "__compat" && !(path.length === 0 && (key === "__meta" || key === "browsers"))
    if (isData) collect(fields(child), [...path, key], pages)
  }
}

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "")

const readPages = (compat: Package): ReadonlyArray<Page> => {
  const pages = new Map<string, Array<Entry>>()
  collect(fields(compat.json("data.json")), [], pages)
  // An address with a fragment belongs to another page, which has its own entry.
  return [...pages]
    .filter(([url]) => !url.includes("#"))
    .flatMap(([url, entries]) => {
      const segments = url.slice(docs.length).split("/")
      const name = segments.at(-1) ?? ""
      const rank = ({ path }: Entry): number => (plain(path.at(-1) ?? "") === plain(name) ? 0 : 100) + path.length
      const [about] = [...entries].sort((a, b) => rank(a) - rank(b))
      if (about === undefined) return []
      const label = oneLine(htmlText(string(about.compat.description)))
      const parent = segments.at(-2) ?? ""
      return [{ ...about, segments, name, parent, label, paths: entries.map(({ path }) => path) }]
    })
}

const memberName = (key: string): string => key.replace(/_(static|event)$/, "")

const maxNamedMembers = 6

const interfaceFace = ({ name, children }: Page, { kinds, parents }: Idl): Face => {
  const members = kinds.get(name)
  const named = children
    .filter((key) => memberName(key) !== name && !/^@@|[^\w]/.test(key))
    .map((key) => {
      if (key.endsWith("_event")) return `${memberName(key)} event`
      return members?.get(memberName(key)) === "method" ? `${memberName(key)}()` : memberName(key)
    })
  const isApi = /^[A-Z]/.test(name)
  const parent = parents.get(name)
  return {
    title: `${name} - Web APIs | MDN`,
    lead: `The ${name} ${isApi ? "interface" : "namespace"} of the Web APIs${parent ? `, a kind of ${parent}` : ""}`,
    ...(named.length === 0 ? {} : { details: `Its members include ${enumerate(named.slice(0, maxNamedMembers))}` })
  }
}

const apiFace = (page: Page, idl: Idl): Face => {
  const { name, segments } = page
  const owner = segments[2] ?? ""
  if (segments.length === 3) return interfaceFace(page, idl)
  const member = memberName(name)
  const title = (rest: string): string => `${owner}: ${rest} - Web APIs | MDN`
  if (name === owner) {
    return { title: title(`${name}() constructor`), lead: `The ${name}() constructor creates a new ${name} object` }
  }
  if (name.endsWith("_event")) {
    return { title: title(`${member} event`), lead: `The ${member} event of the ${owner} interface` }
  }
  const kind = idl.kinds.get(owner)?.get(member)
  const shape = `${name.endsWith("_static") ? "static " : ""}${kind ?? ""}`.trim()
  const call = kind === "method" ? `${member}()` : member
  return {
    title: title(`${call} ${shape}`.trim()),
    lead: `The ${call} ${shape === "" ? "member" : shape} of the ${owner} interface`
  }
}

const ecmaFace = ({ segments, label }: Page, kinds: Kinds): Face => {
  const [owner = "", ...rest] = segments.slice(4)
  const isNamespaced = (owner === "Intl" || owner === "Temporal") && /^[A-Z]/.test(rest[0] ?? "")
  const holder = isNamespaced ? `${owner}.${rest[0] ?? ""}` : owner
  const member = (isNamespaced ? rest[1] : rest[0]) ?? ""
  const title = (name: string): string => `${name} - JavaScript | MDN`
  if (member === "") {
    const isFunction = /^[a-z]/.test(holder) && !["globalThis", "undefined"].includes(holder)
    const what = isFunction ? "global function" : /^(NaN|Infinity)$/.test(holder) ? "global property" : "built-in"
    return {
      title: title(isFunction ? `${holder}()` : holder),
      lead: `The ${holder}${isFunction ? "()" : ""} ${what === "built-in" ? "built-in object" : what} of JavaScript`
    }
  }
  if (member === holder.split(".").at(-1)) {
    return { title: title(`${holder}() constructor`), lead: `The ${holder}() constructor of JavaScript` }
  }
  const instance = kinds.get(holder)?.get(member)
  const own = kinds.get(`${holder}Constructor`)?.get(member)
  const isNamespace = ["Math", "JSON", "Reflect", "Atomics", "Intl", "Temporal", "Temporal.Now"].includes(holder)
  const isStatic = isNamespace || instance === undefined
  const kind = instance ?? own ?? (/\bmethod\b|\(\)/.test(label) ? "method" : undefined)
  const isKnown = isNamespace || instance !== undefined || own !== undefined
  const place = isKnown && !isStatic ? `${holder}.prototype` : holder
  const name = member.startsWith("Symbol.") ? `${place}[${member}]` : `${place}.${member}`
  const call = kind === "method" ? `${name}()` : name
  return {
    title: title(call),
    lead: `The ${call} ${isStatic && own ? "static " : ""}${kind ?? "member"} of JavaScript`
  }
}

const javascriptFace = (page: Page, kinds: Kinds): Face => {
  const { segments, label, name, parent } = page
  if (segments[3] === "Global_Objects") return ecmaFace(page, kinds)
  const shown = label === "" ? words(name) : label
  const title = `${shown} - JavaScript | MDN`
  const area = segments.length > 4 ? words(segments[3] ?? "").toLowerCase() : ""
  const kind = /^(statement|operator)s$/.exec(area)?.[1]
  const inside = segments.length > 5 ? ` of ${words(parent)}` : ""
  if (inside !== "") return { title, lead: `${shown}, a part${inside} in JavaScript` }
  if (kind === "statement" && /^[a-z.]+$/.test(shown)) return { title, lead: `The ${shown} statement of JavaScript` }
  if (kind === "operator") return { title, lead: `${shown}, ${withArticle(kind)} or expression of JavaScript` }
  const place = area === "" ? "the JavaScript language" : `JavaScript ${area}`
  return { title, lead: `${shown}, a part of ${place}` }
}

interface CssFacts {
  readonly functions: ReadonlySet<string>
  readonly properties: ReadonlyMap<string, string>
  readonly groups: ReadonlyMap<string, string>
}

const appliesTo = (key: string, l10n: Fields): string =>
  bareTags(htmlText(string(fields(l10n[key])["en-US"]).replace(/\{\{\w+\("(.*?)".*?\)\}\}/g, "$1")))

const propertyFacts = (property: Fields, l10n: Fields): string => {
  const initial = string(property.initial)
  const shown = appliesTo(initial, l10n) || (/^[\w\s#%.()-]+$/.test(initial) ? initial : "")
  const target = appliesTo(string(property.appliesto), l10n)
  const facts = [
    shown === "" || /[A-Z]/.test(shown) ? "" : `its initial value is ${shown}`,
    target === "" ? "" : `it applies to ${target}`,
    property.inherited === true ? "it is inherited" : property.inherited === false ? "it is not inherited" : ""
  ].filter((fact) => fact !== "")
  return capital(enumerate(facts))
}

const readCss = (mdnData: Package): CssFacts => {
  const l10n = fields(mdnData.json("l10n/css.json"))
  const functions = new Set<string>()
  const properties = new Map<string, string>()
  const groups = new Map<string, string>()
  for (const file of ["properties", "functions", "selectors", "types", "at-rules"]) {
    for (const [name, value] of Object.entries(fields(mdnData.json(`css/${file}.json`)))) {
      const entry = fields(value)
      const url = string(entry.mdn_url)
      const group = strings(entry.groups)[0]
      if (group !== undefined) groups.set(url, group)
      if (name.endsWith("()")) functions.add(url)
      if (file === "properties") properties.set(url, propertyFacts(entry, l10n))
    }
  }
  return { functions, properties, groups }
}

const cssKind = ({ segments, name, parent, label }: Page, isFunction: boolean): string => {
  const area = segments[3] ?? ""
  if (area === "Properties") return segments.length > 5 ? `value of the ${parent} CSS property` : "CSS property"
  if (area === "At-rules") {
    if (segments.length === 5) return "CSS at-rule"
    const kind = /(media feature|descriptor)$/.exec(label)?.[1]
    return `${kind ?? (parent === "@media" ? "media feature" : "descriptor")} of the ${parent} CSS at-rule`
  }
  if (area === "Selectors") {
    return name.startsWith("::") ? "CSS pseudo-element" : name.startsWith(":") ? "CSS pseudo-class" : "of CSS"
  }
  return isFunction ? "CSS function" : label.startsWith("<") ? "CSS data type" : "CSS value"
}

const cssFace = (page: Page, css: CssFacts): Face => {
  const { segments, name, label } = page
  const url = docs + segments.join("/")
  const isFunction = css.functions.has(url) || label.includes(`${name}()`)
  const readable = /^[A-Z]/.test(name) ? words(name) : isFunction ? `${name}()` : name.replace(/_/g, " ")
  const group = css.groups.get(url)
  const part = group === undefined || /^CSS Types$/.test(group) ? "" : `, part of ${group}`
  const isGuide = segments[2] === "Guides"
  return {
    title: `${readable} - CSS | MDN`,
    lead: isGuide ? `${readable}, a CSS guide` : `The ${readable} ${cssKind(page, isFunction)}${part}`,
    details: css.properties.get(url) ?? ""
  }
}

const htmlFace = ({ segments, name, parent, paths, label }: Page): Face => {
  const area = segments[3] ?? ""
  if (area === "Global_attributes") {
    return {
      title: `HTML ${name} global attribute - HTML | MDN`,
      lead: `The ${name} global attribute of HTML elements`
    }
  }
  if (area === "Attributes") {
    const owners = [...new Set(paths.flatMap((path) => (path[1] === "elements" ? [path[2] ?? ""] : [])))].sort()
    const where = segments.length > 5 ? ` of the ${parent} attribute` : ""
    const kind = where === "" ? "attribute" : "value"
    const used = owners.length === 0 ? "" : `, used on the ${enumerate(owners)} element${owners.length > 1 ? "s" : ""}`
    const title = where === "" ? `HTML ${name} attribute` : `HTML ${parent} attribute: ${name}`
    return { title: `${title} - HTML | MDN`, lead: `The ${name} HTML ${kind}${where}${used}` }
  }
  if (segments.length === 5) return { title: `${name} HTML element - HTML | MDN`, lead: `The ${name} element of HTML` }
  const element = segments[4] ?? ""
  const shown = /^[\w-]+="/.test(label)
    ? label
    : `${segments.slice(5, -1).join(" ")}="${name}"`.replace(/^="/, 'type="')
  return { title: `${element} ${shown} - HTML | MDN`, lead: `The ${element} HTML element with ${shown}` }
}

const httpFace = ({ segments, name, parent, label }: Page, statuses: ReadonlyMap<string, string>): Face => {
  const area = segments[3] ?? ""
  if (area === "Methods")
    return { title: `${name} request method - HTTP | MDN`, lead: `The HTTP ${name} request method` }
  if (area === "Status") {
    const title = `${name} ${statuses.get(name) ?? ""}`.trim()
    return { title: `${title} - HTTP | MDN`, lead: `The HTTP ${title} response status code` }
  }
  if (area !== "Headers") {
    const shown = label !== "" && label.length < 60 ? label.replace(/\.$/, "") : words(name)
    return { title: `${capital(shown)} - HTTP | MDN`, lead: capital(shown) }
  }
  if (segments.length > 5) {
    const title = `${parent}: ${name} directive - HTTP | MDN`
    return { title, lead: `The ${name} directive of the HTTP ${parent} header` }
  }
  return { title: `${name} header - HTTP | MDN`, lead: `The HTTP ${name} header` }
}

const svgFace = ({ segments, name, paths }: Page): Face => {
  if (segments[3] === "Element") {
    return { title: `${name} - SVG | MDN`, lead: `The ${name} element of SVG (Scalable Vector Graphics)` }
  }
  const owners = [...new Set(paths.flatMap((path) => (path[1] === "elements" ? [path[2] ?? ""] : [])))].sort()
  const shown = owners.length > maxNamedMembers ? [...owners.slice(0, maxNamedMembers), "other elements"] : owners
  return {
    title: `${name} - SVG | MDN`,
    lead: `The ${name} attribute of SVG${shown.length === 0 ? "" : `, used on ${enumerate(shown)}`}`
  }
}

const extensionFace = ({ segments, name, children }: Page): Face => {
  const area = segments[3] ?? ""
  const title = (shown: string): string => `${shown} - Mozilla | MDN`
  if (area === "manifest.json") {
    return { title: title(`${name} (manifest.json)`), lead: `The ${name} key of a browser extension's manifest.json` }
  }
  if (area !== "API") return { title: title(words(name)), lead: `${words(name)} in browser extensions (WebExtensions)` }
  const dotted = segments.slice(4).join(".")
  if (segments.length > 5) {
    const namespace = segments.slice(4, -1).join(".")
    return {
      title: title(dotted),
      lead: `${dotted}, a part of the ${namespace} API of browser extensions (WebExtensions)`
    }
  }
  const named = children.slice(0, maxNamedMembers)
  return {
    title: title(name),
    lead: `The ${name} API of browser extensions (WebExtensions)`,
    ...(named.length === 0 ? {} : { details: `It includes ${enumerate(named)}` })
  }
}

const wasmFace = ({ segments, name }: Page, { kinds }: Idl): Face => {
  const area = segments[2] ?? ""
  const title = (shown: string): string => `${shown} - WebAssembly | MDN`
  if (area === "JavaScript_interface") {
    const owner = segments.length > 4 ? (segments[3] ?? "") : "WebAssembly"
    const member = memberName(name)
    if (segments.length === 3) return { title: title("WebAssembly"), lead: "The WebAssembly JavaScript namespace" }
    if (segments.length === 4 && /^[A-Z]/.test(name)) {
      return {
        title: title(`WebAssembly.${name}`),
        lead: `The WebAssembly.${name} object of the WebAssembly JavaScript API`
      }
    }
    if (member === owner) {
      return { title: title(`WebAssembly.${name}() constructor`), lead: `The WebAssembly.${name}() constructor` }
    }
    const isPrototype = owner !== "WebAssembly" && !name.endsWith("_static")
    const place = owner === "WebAssembly" ? owner : `WebAssembly.${owner}${isPrototype ? ".prototype" : ""}`
    const kind = kinds.get(owner)?.get(member)
    const call = `${place}.${member}${kind === "method" ? "()" : ""}`
    return { title: title(call), lead: `The ${call} ${kind ?? "member"} of the WebAssembly JavaScript API` }
  }
  const group = segments.slice(2, -1).map(words).join(" ")
  const kind = area === "Value_types" ? "value type" : area === "Definitions" ? "definition" : "instruction"
  const isPlain = kind !== "instruction"
  const shown = isPlain ? `${name}: WebAssembly ${kind}` : `${name}: WebAssembly ${group} instruction`
  return { title: title(shown), lead: `The ${name} ${kind} of WebAssembly${isPlain ? "" : ` (${group})`}` }
}

const webdriverFace = ({ segments, name, label, children }: Page): Face => {
  const isBidi = segments[3] === "BiDi"
  const dialect = isBidi ? "WebDriver BiDi" : "WebDriver Classic"
  const command = name.replace(/([a-z])([A-Z])/g, "$1 $2")
  const module = `${name} module`
  const shown = label !== "" ? label : isBidi ? module : segments.length > 5 ? `${command} command` : words(name)
  const named = label === "" && isBidi ? children.map(memberName).slice(0, maxNamedMembers) : []
  return {
    title: `${shown} - WebDriver | MDN`,
    lead: `The ${shown} of ${dialect}, for automating browsers`,
    ...(named.length === 0 ? {} : { details: `It includes ${enumerate(named)}` })
  }
}

const otherFace = ({ segments, name, label }: Page): Face => {
  const isName = segments.includes("Manifest") || segments.includes("MathML")
  const shown = isName ? name : label !== "" && label.length < 60 ? label.replace(/\.$/, "") : words(name)
  const [area, kind] = segments.includes("MathML")
    ? ["MathML", segments[3] === "Element" ? "element of MathML" : "attribute of MathML"]
    : segments.includes("Manifest")
      ? ["Progressive web apps", "member of the web application manifest"]
      : [words(segments[1] ?? segments[0] ?? "Web"), ""]
  return {
    title:
      `${area === "MathML" ? `${shown} MathML ${segments[3] === "Element" ? "element" : "attribute"}` : shown}` +
      ` - ${area} | MDN`,
    lead: kind === "" ? capital(shown) : `The ${shown} ${kind}`
  }
}

const browsers = [
  ["chrome", "Chrome"],
  ["edge", "Edge"],
  ["firefox", "Firefox"],
  ["safari", "Safari"],
  ["nodejs", "Node.js"]
] as const

/** The first browser version that supports the entry unprefixed and without a flag, or "". */
const versionAdded = (statement: unknown): string => {
  const first = fields(Array.isArray(statement) ? statement[0] : statement)
  const isPlain =
    first.version_removed === undefined &&
    list(first.flags).length === 0 &&
    first.prefix === undefined &&
    first.alternative_name === undefined
  const version = string(first.version_added)
  return isPlain && version !== "preview" ? version : ""
}

const supportText = (compat: Fields): string => {
  const support = fields(compat.support)
  const supported = browsers.flatMap(([key, name]) => {
    const version = versionAdded(support[key])
    return version === "" ? [] : [withVersion(name, version)]
  })
  const missing = browsers.flatMap(([key, name]) =>
    key !== "nodejs" && fields(support[key]).version_added === false ? [name] : []
  )
  if (supported.length === 0) return ""
  return `Supported in ${enumerate(supported)}${missing.length === 0 ? "" : `; not in ${enumerate(missing, "or")}`}`
}

const statusText = (compat: Fields): string => {
  const status = fields(compat.status)
  if (status.deprecated === true) return "Deprecated"
  if (status.standard_track === false) return "Non-standard"
  return status.experimental === true ? "Experimental" : ""
}

// Skips the feature for the whole language, which says nothing about a single page.
const featureOf = ({ compat }: Page, features: ReadonlyMap<string, Feature>): string => {
  for (const tag of strings(compat.tags)) {
    const feature = features.get(tag.replace(/^web-features:/, ""))
    if (feature !== undefined && !tag.endsWith(":javascript")) return featureText(feature)
  }
  return ""
}

/** The subject of a sentence such as "The menu element of HTML", or "" if the sentence has another form. */
const subjectOf = (text: string): string => {
  const [, name, rest = ""] = /^The (?:HTTP |CSS )?([^\s,]+) (.*)/s.exec(bareTags(text)) ?? []
  return name !== undefined && subjectKind.test(rest) ? name : ""
}

const subjectKind = new RegExp(
  "^(?:[A-Z]\\w+ |global |response |request )*(?:element|property|function|pseudo-class|pseudo-element|at-rule|" +
    "data type|value|keyword|header|descriptor|attribute|media feature|method|statement|object)\\b"
)

/** The use of a member of a JavaScript built-in, or "". */
const ecmaScriptSummary = ({ segments }: Page, summaries: Summaries): string => {
  const [, , , area, ...names] = segments
  if (area !== "Global_Objects" || names.length < 2) return ""
  const member = names.at(-1) ?? ""
  const owner = names.at(-2) ?? ""
  if (member === owner) return ""
  return summaries.get(`${owner}.${member}`) ?? summaries.get(`${owner}Constructor.${member}`) ?? ""
}

/** Sentences about this page alone, with its status after the first. Undefined if no source has them. */
const ownWords = (page: Page, lead: string, sources: MdnSources): ReadonlyArray<string> | undefined => {
  const summary = sources.summaries.get(page.segments.join("/"))
  const status = statusText(page.compat)
  if (summary !== undefined) {
    return summary.includes(memberName(page.name)) ? [summary, status] : [`${sentence(lead)} ${summary}`, status]
  }
  const use = ecmaScriptSummary(page, sources.ecmaScriptSummaries)
  return use === "" ? undefined : [lead, use, status]
}

/** Pages for every address that MDN's compatibility data knows, in the words of the data about them. */
export const mdnDocuments = (sources: MdnSources): ReadonlyArray<Document> => {
  const { compat, mdnData, statuses, features, specs, idl, ecmaScript } = sources
  const css = readCss(mdnData)
  const codes = readStatuses(statuses)
  const face = (page: Page): Face => {
    const [first = "", second = ""] = page.segments
    if (first === "WebAssembly") return wasmFace(page, idl)
    if (first === "Mozilla") return extensionFace(page)
    if (second === "API") return apiFace(page, idl)
    if (second === "CSS") return cssFace(page, css)
    if (second === "HTML") return htmlFace(page)
    if (second === "HTTP") return httpFace(page, codes)
    if (second === "JavaScript") return javascriptFace(page, ecmaScript)
    if (second === "SVG") return svgFace(page)
    return second === "WebDriver" ? webdriverFace(page) : otherFace(page)
  }
  return readPages(compat).map((page) => {
    const { title, lead, details = "" } = face(page)
    const spec = strings(page.compat.spec_url)
      .map(specs.of)
      .find((found) => found !== undefined)
    const feature = featureOf(page, features)
    // Pages above and below that level keep their own lead, since one description serves a member of several owners.
    const isAboutPage = page.segments.length === 5 && subjectOf(lead) !== "" && subjectOf(lead) === subjectOf(feature)
    const defined = spec === undefined || lead.length + spec.title.length > 180 ? "" : `defined in ${spec.title}`
    const own = ownWords(page, lead, sources)
    const fromSpec = defined === "" ? [lead] : isAboutPage ? [feature, capital(defined)] : [`${lead}, ${defined}`]
    // The words of a feature are on the pages of all its members: a page with words of its own does not need them.
    const led = own ?? [...fromSpec, statusText(page.compat), feature]
    return {
      // The address without a language only redirects to the address with a language.
      url: `https://developer.mozilla.org/en-US/docs/${page.segments.join("/")}`,
      title: bareTags(title),
      description: describe(...led.map(bareTags), details, supportText(page.compat))
    }
  })
}

export const readStatuses = (statuses: Package): ReadonlyMap<string, string> =>
  new Map(Object.entries(fields(statuses.json("codes.json"))).map(([code, text]) => [code, string(text)]))

const statusClasses: Readonly<Record<string, string>> = {
  "1": "informational response",
  "2": "successful response",
  "3": "redirection message",
  "4": "client error response",
  "5": "server error response"
}

// Codes in the registry without a page at MDN.
const withoutPage = new Set(["305", "306", "509"])

/** MDN's page of each status code. The compatibility data has only a few of these. */
export const statusDocuments = (statuses: Package): ReadonlyArray<Document> =>
  [...readStatuses(statuses)]
    .filter(([code]) => !withoutPage.has(code))
    .map(([code, text]) => ({
      url: `https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Status/${code}`,
      title: `${code} ${text} - HTTP | MDN`,
      description: `The HTTP response status code ${code} ${text}, ${withArticle(
        statusClasses[code.slice(0, 1)] ?? "response"
      )}.`
    }))
