import type { Document, Fields } from "./Document.ts"
import {
  bareTags,
  describe,
  enumerate,
  fields,
  list,
  markdownText,
  oneLine,
  sentence,
  string,
  strings,
  withArticle,
  withVersion
} from "./Document.ts"
import type { Package } from "./Packages.ts"

export interface Feature {
  readonly name: string
  readonly description: string
  readonly specs: ReadonlyArray<string>
  readonly status: Fields
}

/** The features of the web platform by id; the ids that only point to another feature are left out. */
export const readFeatures = (webFeatures: Package): ReadonlyMap<string, Feature> => {
  const features = new Map<string, Feature>()
  for (const [id, value] of Object.entries(fields(fields(webFeatures.json("data.json")).features))) {
    const feature = fields(value)
    if (feature.kind !== "feature") continue
    features.set(id, {
      name: oneLine(bareTags(string(feature.name))),
      description: sentence(markdownText(string(feature.description))),
      specs: strings(feature.spec),
      status: fields(feature.status)
    })
  }
  return features
}

/** A feature's own description, preceded by its name if the description does not contain it. */
export const featureText = ({ name, description }: Feature): string =>
  description.toLowerCase().includes(name.toLowerCase()) ? description : `${name}: ${description}`

const months = "January February March April May June July August September October November December".split(" ")

const monthOf = (date: string): string => {
  const [, before, year, month] = /^(≤?)(\d{4})-(\d\d)/.exec(date) ?? []
  if (year === undefined) return ""
  return `${before === "≤" ? "before or in " : ""}${months[Number(month) - 1] ?? ""} ${year}`
}

const baseline = (status: Fields): string => {
  const since = monthOf(string(status.baseline_low_date))
  if (status.baseline === "high") return `Baseline: widely available, in all major browsers since ${since}`
  if (status.baseline === "low") return `Baseline: newly available, in all major browsers since ${since}`
  return status.baseline === false ? "Not Baseline: not yet in all major browsers" : ""
}

const versions = (status: Fields): string => {
  const support = fields(status.support)
  const names = [
    ["chrome", "Chrome"],
    ["edge", "Edge"],
    ["firefox", "Firefox"],
    ["safari", "Safari"]
  ] as const
  const supported = names.flatMap(([key, name]) => {
    const version = string(support[key])
    return version === "" ? [] : [withVersion(name, version)]
  })
  return supported.length === 0 ? "" : `Supported in ${enumerate(supported)}`
}

export const featureDocuments = (features: ReadonlyMap<string, Feature>): ReadonlyArray<Document> =>
  [...features].map(([id, feature]) => ({
    url: `https://web-platform-dx.github.io/web-features-explorer/features/${id}/`,
    title: `${feature.name} - Web platform features explorer`,
    description: describe(featureText(feature), baseline(feature.status), versions(feature.status))
  }))

interface Spec {
  readonly url: string
  readonly title: string
  readonly shortTitle: string
  readonly number: string
  readonly status: string
  readonly organization: string
  readonly groups: ReadonlyArray<string>
  readonly standing: string
}

export interface Specs {
  readonly all: ReadonlyArray<Spec>
  /** The specification that a deep link leads into, in any edition. */
  readonly of: (url: string) => Spec | undefined
}

const withoutSlash = (url: string): string => url.replace(/[#?].*$/, "").replace(/\/(index\.html)?$/, "")

export const readSpecs = (webSpecs: Package): Specs => {
  const all: Array<Spec> = []
  const editions = new Map<string, Spec>()
  for (const value of list(webSpecs.json("index.json"))) {
    const entry = fields(value)
    const [release, nightly] = [fields(entry.release), fields(entry.nightly)]
    const status = string(release.status) || string(nightly.status)
    const title = oneLine(bareTags(string(entry.title)))
    const spec: Spec = {
      url: string(entry.url),
      // The catalogue drops the word that WHATWG's own titles end in.
      title: status === "Living Standard" && !/\bstandard\b/i.test(title) ? `${title} Standard` : title,
      shortTitle: oneLine(bareTags(string(entry.shortTitle))),
      number: /^rfc(\d+)$/.exec(string(entry.shortname))?.[1] ?? "",
      status,
      organization: string(entry.organization),
      groups: list(entry.groups).map((group) => string(fields(group).name)),
      standing: string(entry.standing)
    }
    all.push(spec)
    const urls = [spec.url, string(release.url), string(nightly.url), ...strings(nightly.alternateUrls)]
    // Only the current level of a series has the address without a level.
    const series = fields(entry.series)
    if (series.currentSpecification === entry.shortname) {
      urls.push(string(series.releaseUrl), string(series.nightlyUrl))
    }
    for (const url of urls.map(withoutSlash)) {
      if (url !== "" && !editions.has(url)) editions.set(url, spec)
    }
  }
  const of = (url: string): Spec | undefined => {
    for (let at = withoutSlash(url); at.length > "https://".length; at = at.slice(0, at.lastIndexOf("/"))) {
      const spec = editions.get(at)
      if (spec !== undefined) return spec
    }
    return undefined
  }
  return { all, of }
}

const maxNamedFeatures = 6

export const specDocuments = (specs: Specs, features: ReadonlyMap<string, Feature>): ReadonlyArray<Document> => {
  const defined = new Map<Spec, Array<string>>()
  for (const feature of features.values()) {
    for (const spec of new Set(feature.specs.map(specs.of))) {
      if (spec !== undefined) defined.set(spec, [...(defined.get(spec) ?? []), feature.name])
    }
  }
  return specs.all.map((spec) => {
    const publishers = (spec.groups.length === 0 ? [spec.organization] : spec.groups).filter((name) => name !== "")
    const by = enumerate(publishers.map((name) => (/(Group|Board|Committee)$/.test(name) ? `the ${name}` : name)))
    const status = spec.status === "" ? "specification" : spec.status
    const names = (defined.get(spec) ?? []).filter((name) => !spec.title.toLowerCase().includes(name.toLowerCase()))
    const named = names.slice(0, maxNamedFeatures)
    const rest = names.length > named.length ? [...named, `${names.length - named.length} more`] : named
    const from = spec.organization === "" || by.includes(spec.organization) ? "" : ` at ${spec.organization}`
    return {
      url: spec.url,
      title: spec.number === "" ? spec.title : `RFC ${spec.number}: ${spec.title}`,
      description: describe(
        `${spec.title} is ${withArticle(status)}${by === "" ? "" : ` by ${by}`}${from}`,
        spec.standing === "discontinued" ? "The specification is discontinued" : "",
        rest.length === 0 ? "" : `It defines web platform features such as ${enumerate(rest)}`,
        spec.title.startsWith(spec.shortTitle) ? "" : `Also known as ${spec.shortTitle}`
      )
    }
  })
}
