/** Files that are published at their folder's URL: `guide/index.html` as `guide/`. */
const folderPage = /^(index\.(html?|md|markdown)|readme\.(md|markdown))$/i

const markdown = /\.(md|markdown)$/i

export const isPage = (path: string): boolean => /\.(html?|md|markdown)$/i.test(path)

export const isMarkdown = (path: string): boolean => markdown.test(path)

/** Adds a trailing slash, because relative paths would otherwise replace the last segment. */
export const baseOf = (address: string): URL | undefined => {
  const base = URL.parse(address)
  if (base === null || !/^https?:$/.test(base.protocol) || base.search !== "" || base.hash !== "") return undefined
  if (!base.pathname.endsWith("/")) base.pathname += "/"
  return base
}

/** HTML files keep their name, Markdown files lose the extension, and index files get the URL of their folder. */
export const addressOf = (path: string, base: URL): string => {
  const segments = path.split("/")
  const name = segments.at(-1) ?? ""
  const last = folderPage.test(name) ? "" : name.replace(markdown, "")
  return `${base.href}${[...segments.slice(0, -1), last].map(encodeURIComponent).join("/")}`
}

/** The decoded path segments below `base`. Undefined for other URLs, and for paths that leave the folder. */
const segmentsBelow = (address: URL, base: URL): ReadonlyArray<string> | undefined => {
  if (address.origin !== base.origin || !address.pathname.startsWith(base.pathname)) return undefined
  try {
    const segments = address.pathname.slice(base.pathname.length).split("/").map(decodeURIComponent)
    const isUnsafe = (segment: string, index: number): boolean =>
      /^\.\.?$|[/\\\0]/.test(segment) || (segment === "" && index < segments.length - 1)
    return segments.some(isUnsafe) ? undefined : segments
  } catch {
    return undefined
  }
}

/** The files that a URL may be published from, most likely first. Empty if the URL is not below the base. */
export const filesOf = (address: URL, base: URL): ReadonlyArray<string> => {
  const segments = segmentsBelow(address, base)
  if (segments === undefined) return []
  const path = segments.join("/")
  const folder = path === "" || path.endsWith("/") ? path : `${path}/`
  const inFolder = ["index.html", "index.htm", "index.md", "README.md", "index.markdown"].map((name) => folder + name)
  if (folder === path) return path === "" ? inFolder : [...inFolder, ...filesNamed(path.slice(0, -1))]
  return isPage(path) ? [path] : [...filesNamed(path), ...inFolder]
}

const filesNamed = (path: string): ReadonlyArray<string> =>
  [".html", ".md", ".htm", ".markdown"].map((end) => path + end)

export const titleOf = (address: string): string => {
  const { hostname, pathname } = new URL(address)
  const name = pathname.split("/").findLast((segment) => segment !== "") ?? ""
  const words = name.replace(/\.\w+$/, "").replace(/[-_]+/g, " ")
  try {
    return decodeURIComponent(words).trim() || hostname
  } catch {
    return words.trim() || hostname
  }
}
