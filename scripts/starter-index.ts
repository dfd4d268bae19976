// Generates data/starter-index.jsonl.gz, the documents that a first start loads, and the page that lists their sources.
// The sources are packages pinned by version and hash, so that the result is the same everywhere.
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import * as Catalogues from "./starter-index/Catalogues.ts"
import type { Document } from "./starter-index/Document.ts"
import { maxDescriptionChars } from "./starter-index/Document.ts"
import { guideDocuments } from "./starter-index/Guides.ts"
import { mdnDocuments, statusDocuments } from "./starter-index/Mdn.ts"
import { mdnPageDocuments, mdnTitles } from "./starter-index/MdnPages.ts"
import type { Package, Pin } from "./starter-index/Packages.ts"
import { fetchPackage, pins } from "./starter-index/Packages.ts"
import { readDomSummaries, readEcmaScriptSummaries, readWebSummaries } from "./starter-index/Summaries.ts"
import { readEcmaScript, readIdl } from "./starter-index/WebKinds.ts"
import { featureDocuments, readFeatures, readSpecs, specDocuments } from "./starter-index/WebPlatform.ts"

const maxTitleChars = 200
const maxFileBytes = 3_000_000
const minDocuments = 2_000

interface Source {
  /** The package, or the file of the repository. */
  readonly pin: Pick<Pin, "name" | "version" | "license">
  readonly taken: string
  readonly credit: string
  readonly documents: ReadonlyArray<Document>
}

const data = join(import.meta.dirname, "..", "data")

const isSound = ({ url, title, description }: Document): boolean =>
  URL.canParse(url) &&
  url === new URL(url).href &&
  url.startsWith("https://") &&
  !url.includes("#") &&
  title.length > 0 &&
  title.length <= maxTitleChars &&
  description.length > 0 &&
  description.length <= maxDescriptionChars

/** Each address once, from the first source that has it. Throws on a document that is not fit to be shown. */
const withoutRepeats = (sources: ReadonlyArray<Source>): ReadonlyArray<Source> => {
  const seen = new Set<string>()
  return sources.map((source) => ({
    ...source,
    documents: source.documents.filter((each) => {
      const document = { ...each, url: new URL(each.url).href }
      if (!isSound(document)) throw new Error(`${source.pin.name}: not a sound document: ${JSON.stringify(each)}`)
      const isNew = !seen.has(document.url)
      seen.add(document.url)
      return isNew
    })
  }))
}

const readSources = (open: (pin: Pin) => Package): ReadonlyArray<Source> => {
  const features = readFeatures(open(pins.webFeatures))
  const specs = readSpecs(open(pins.webSpecs))
  const statuses = open(pins.statuses)
  const typescript = open(pins.typescript)
  const mdnPages = open(pins.mdnPages)
  const mdn = mdnDocuments({
    compat: open(pins.bcd),
    mdnData: open(pins.mdnData),
    statuses,
    features,
    specs,
    idl: readIdl(open(pins.webrefIdl)),
    ecmaScript: readEcmaScript(typescript),
    summaries: new Map([...readDomSummaries(typescript), ...readWebSummaries(open(pins.webData))]),
    ecmaScriptSummaries: readEcmaScriptSummaries(typescript)
  })
  return [
    {
      pin: { name: "scripts/starter-index/guides.jsonl", version: "", license: "MIT" },
      taken: "the pages that newcomers look for first, with descriptions that we wrote",
      credit:
        "titles of MDN's pages are from the list of its pages; addresses and titles of the others were written by hand too, and not fetched",
      documents: guideDocuments(mdnTitles(mdnPages))
    },
    {
      pin: pins.bcd,
      taken: "addresses of MDN's reference pages, their names, browser support and status",
      credit: "MDN contributors; public domain dedication",
      documents: mdn
    },
    {
      pin: pins.mdnPages,
      taken: "addresses and titles of MDN's guides, lessons, glossary and errors, and what sort of page each is",
      credit: "MDN contributors, https://developer.mozilla.org; the descriptions are made from the titles",
      documents: mdnPageDocuments(mdnPages)
    },
    {
      pin: pins.webFeatures,
      taken: "names, descriptions and Baseline status of web platform features, here and for the MDN pages",
      credit: "W3C WebDX Community Group and contributors; descriptions shortened",
      documents: featureDocuments(features)
    },
    {
      pin: pins.webSpecs,
      taken: "addresses, titles, status and publishers of web specifications, here and for the MDN pages",
      credit: "W3C and contributors; public domain dedication",
      documents: specDocuments(specs, features)
    },
    {
      pin: pins.mdnData,
      taken: "groups, initial values, inheritance and targets of CSS properties, for the MDN pages",
      credit: "Mozilla contributors; public domain dedication",
      documents: []
    },
    {
      pin: pins.webrefIdl,
      taken: "which members of an interface are methods and which are properties, for the MDN pages' titles",
      credit: "W3C and contributors; facts only, no text",
      documents: []
    },
    {
      pin: pins.typescript,
      taken:
        "what members of the JavaScript built-ins and of the DOM are and do, for the MDN pages' titles and descriptions",
      credit:
        "Microsoft Corporation; sentences about the DOM are by MDN contributors (CC-BY-SA-2.5); shortened, mark-up removed",
      documents: []
    },
    {
      pin: pins.webData,
      taken: "what HTML elements and attributes and CSS properties and selectors are for, for the MDN pages",
      credit: "Microsoft Corporation; the sentences are by MDN contributors (CC-BY-SA-2.5); shortened, mark-up removed",
      documents: []
    },
    {
      pin: pins.statuses,
      taken: "HTTP status codes and their reason phrases; the address is MDN's page of the code",
      credit: "Copyright (c) 2014 Jonathan Ong, (c) 2016 Douglas Christopher Wilson",
      documents: statusDocuments(statuses)
    },
    {
      pin: pins.caniuse,
      taken: "titles and descriptions of the features that caniuse.com has a page for",
      credit: "Can I use by Alexis Deveria, https://caniuse.com; Markdown removed, descriptions shortened",
      documents: Catalogues.caniuseDocuments(open(pins.caniuse))
    },
    {
      pin: pins.spdx,
      taken: "names and identifiers of licenses, OSI approval, and the opening words of each text",
      credit: "Sindre Sorhus and SPDX; public domain dedication",
      documents: Catalogues.spdxDocuments(open(pins.spdx))
    },
    {
      pin: pins.next,
      taken: "titles, descriptions and first paragraphs of the manual",
      credit: "Copyright (c) 2025 Vercel, Inc.; shortened",
      documents: Catalogues.nextDocuments(open(pins.next))
    },
    {
      pin: pins.ai,
      taken: "titles, descriptions and first paragraphs of the manual",
      credit: "Copyright 2023 Vercel, Inc.; shortened",
      documents: Catalogues.aiDocuments(open(pins.ai))
    },
    {
      pin: pins.fastify,
      taken: "titles and first paragraphs of the manual",
      credit: "Copyright (c) 2016-present The Fastify team; shortened",
      documents: Catalogues.fastifyDocuments(open(pins.fastify))
    },
    {
      pin: pins.bun,
      taken: "titles, descriptions and first paragraphs of the manual and its guides",
      credit: "Copyright (c) Oven and Bun contributors; shortened",
      documents: Catalogues.bunDocuments(open(pins.bun))
    },
    {
      pin: pins.eslint,
      taken: "names and descriptions of rules",
      credit: "Copyright OpenJS Foundation and other contributors",
      documents: Catalogues.eslintDocuments(open(pins.eslint))
    },
    {
      pin: pins.typescriptEslint,
      taken: "names and descriptions of rules",
      credit: "Copyright (c) 2019 typescript-eslint and other contributors",
      documents: Catalogues.typescriptEslintDocuments(open(pins.typescriptEslint))
    },
    {
      pin: pins.unicorn,
      taken: "names and descriptions of rules",
      credit: "Copyright (c) Sindre Sorhus",
      documents: Catalogues.unicornDocuments(open(pins.unicorn))
    },
    {
      pin: pins.biome,
      taken: "names and descriptions of rules",
      credit: "Copyright (c) 2023 Biome Developers and Contributors; portions by Rome Tools, Inc.",
      documents: Catalogues.biomeDocuments(open(pins.biome))
    }
  ]
}

// The tenth byte of the header names the operating system. It is the only byte that differs between machines.
const gzipped = (text: string): Buffer => {
  const packed = gzipSync(text, { level: 9 })
  packed[9] = 255
  return packed
}

const byUrl = (a: Document, b: Document): number => (a.url < b.url ? -1 : a.url > b.url ? 1 : 0)

const account = (sources: ReadonlyArray<Source>, total: number, sha256: string): string => {
  const rows = sources.map(
    ({ pin, taken, credit, documents }) =>
      `| \`${pin.name}\` | ${pin.version} | ${pin.license} | ${taken} | ${credit} | ${documents.length} |`
  )
  return `# Starter index

\`starter-index.jsonl.gz\` holds ${total} documents, one per line, each with \`url\`, \`title\`, \`description\` and
\`language\`. Documents of \`guides.jsonl\`, which people look for most, come first, so that a first start has them
immediately. Each part is sorted by \`url\`. All descriptions come from published data about pages; no page was fetched.

| Package | Version | License | What was taken | Credit and changes | Documents |
| --- | --- | --- | --- | --- | ---: |
${rows.join("\n")}
| **Total** | | | | | **${total}** |

A package without documents adds to the titles or descriptions of another package. Each license is the one that the
package declares. CC-BY-4.0 is at <https://creativecommons.org/licenses/by/4.0/>, CC-BY-SA-2.5 at
<https://creativecommons.org/licenses/by-sa/2.5/>: if you redistribute the titles and descriptions of MDN's pages, you
must do so under that license. If a page has a line in \`scripts/starter-index/guides.jsonl\`, that line describes it.

To generate it again, run \`npx node scripts/starter-index.ts\`, with access to the npm registry. The packages are pinned
by version and hash, so the result is the same each time, byte for byte under the same zlib:
sha256 \`${sha256}\` unpacked.
`
}

const build = (folder: string): void => {
  const sources = withoutRepeats(readSources((pin) => fetchPackage(pin, folder)))
  const [guides, ...others] = sources
  const documents = [
    ...(guides?.documents.toSorted(byUrl) ?? []),
    ...others.flatMap((source) => source.documents).sort(byUrl)
  ]
  const lines = documents.map(
    ({ url, title, description }) =>
      `${JSON.stringify({ url: new URL(url).href, title, description, language: "en" })}\n`
  )
  const text = lines.join("")
  const packed = gzipped(text)
  if (documents.length < minDocuments) throw new Error(`only ${documents.length} documents`)
  if (packed.length > maxFileBytes) throw new Error(`the file is ${packed.length} bytes long`)
  mkdirSync(data, { recursive: true })
  writeFileSync(join(data, "starter-index.jsonl.gz"), packed)
  const sha256 = createHash("sha256").update(text).digest("hex")
  writeFileSync(join(data, "STARTER-INDEX.md"), account(sources, documents.length, sha256))
}

const folder = mkdtempSync(join(tmpdir(), "starter-index-"))
try {
  build(folder)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
