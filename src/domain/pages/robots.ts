// RFC 9309. Text that is not a robots.txt file has no rules and therefore allows everything.

/** The name of this service in robots.txt files, regardless of the configured user agent. */
export const productToken = "quarry"

export const maxRobotsBytes = 500 * 1024

/** Rules with `*` are slower to match than prefixes. Rules beyond the limits are ignored. */
const maxWildcardRules = 1_000
const maxRules = 10_000
const maxPatternCharacters = 2_048

/**
 * Limits the characters of the path times the rules with `*`. Matching this many takes about 10 ms. A path that would take
 * longer is disallowed, because what its rules say stays unknown.
 */
const maxWildcardSteps = 1_000_000

export interface RobotsRule {
  readonly isAllowed: boolean
  /** A path prefix. `*` matches any characters, and a final `$` the end of the path. */
  readonly pattern: string
}

export type RobotsRules = ReadonlyArray<RobotsRule>

interface Group {
  readonly agents: Array<string>
  readonly rules: Array<RobotsRule>
}

/** Normalizes percent-encoding (RFC 9309, 2.2.2). */
const normalize = (text: string): string =>
  /^[\x21-\x24\x26-\x7e]*$/.test(text)
    ? text
    : text
        .replaceAll(/%[0-9A-Fa-f]{2}/g, (code) => {
          const character = String.fromCharCode(Number.parseInt(code.slice(1), 16))
          return /[A-Za-z0-9._~-]/.test(character) ? character : code.toUpperCase()
        })
        .replaceAll(/[^\x21-\x7e]+/gu, (characters) => encodeURIComponent(characters.toWellFormed()))

const agentOf = (value: string): string => (/^(?:\*|[A-Za-z_-]+)/.exec(value)?.[0] ?? "").toLowerCase()

/** First letters of the fields we read. Other lines cost one comparison: a file may have half a million of them. */
const firstLetters = /[uad]/i

/** Splits without a regular expression, whose time could be quadratic. */
const fieldOf = (line: string): readonly [name: string, value: string] => {
  const comment = line.indexOf("#")
  const text = comment < 0 ? line : line.slice(0, comment)
  const colon = text.indexOf(":")
  return colon < 0 ? ["", ""] : [text.slice(0, colon).trim().toLowerCase(), text.slice(colon + 1).trim()]
}

const isLineEnd = (code: number): boolean => code === 10 || code === 13

/** The lines that may have a field, without the white space before them. */
function* linesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) <= 32) continue
    const start = at
    while (at < text.length && !isLineEnd(text.charCodeAt(at))) at++
    if (firstLetters.test(text[start] ?? "")) yield text.slice(start, at)
  }
}

const groupsOf = (text: string): ReadonlyArray<Group> => {
  const groups: Array<Group> = []
  let isNaming = false
  for (const line of linesOf(text)) {
    const [name, value] = fieldOf(line)
    if (name === "user-agent") {
      if (!isNaming) groups.push({ agents: [], rules: [] })
      groups.at(-1)?.agents.push(agentOf(value))
      isNaming = true
    } else if (name === "allow" || name === "disallow") {
      isNaming = false
      // An empty Disallow allows everything.
      if (value !== "") groups.at(-1)?.rules.push({ isAllowed: name === "allow", pattern: value })
    }
  }
  return groups
}

const isWildcard = ({ pattern }: RobotsRule): boolean => pattern.includes("*")

/** The rules of all groups that name this service, or else of all groups for `*`. */
export const parseRobots = (text: string): RobotsRules => {
  const groups = groupsOf(text)
  const rulesFor = (agent: string) => groups.filter(({ agents }) => agents.includes(agent))
  const own = rulesFor(productToken)
  const rules = (own.length > 0 ? own : rulesFor("*")).flatMap((group) => group.rules)
  let wildcards = 0
  return rules
    .filter(({ pattern }) => pattern.length <= maxPatternCharacters)
    .filter((rule) => !isWildcard(rule) || ++wildcards <= maxWildcardRules)
    .slice(0, maxRules)
    .map(({ isAllowed, pattern }) => ({ isAllowed, pattern: normalize(pattern) }))
}

/**
 * The position after the first `piece` from `start` on, or -1. Knuth-Morris-Pratt, because the time of `indexOf` can grow
 * with the product of both lengths, which strangers choose.
 */
const endOf = (text: string, piece: string, start: number): number => {
  const borders = [0]
  for (let at = 1, border = 0; at < piece.length; at++) {
    while (border > 0 && piece[at] !== piece[border]) border = borders[border - 1] ?? 0
    if (piece[at] === piece[border]) border++
    borders.push(border)
  }
  for (let at = start, matched = 0; at < text.length; at++) {
    while (matched > 0 && text[at] !== piece[matched]) matched = borders[matched - 1] ?? 0
    if (text[at] === piece[matched]) matched++
    if (matched === piece.length) return at + 1
  }
  return -1
}

const matches = (path: string, pattern: string): boolean => {
  const isAnchored = pattern.endsWith("$")
  const [prefix = "", ...pieces] = (isAnchored ? pattern.slice(0, -1) : pattern).split("*")
  if (!path.startsWith(prefix)) return false
  const last = pieces.pop()
  if (last === undefined) return !isAnchored || path.length === prefix.length
  let at = prefix.length
  for (const piece of pieces) {
    if (piece === "") continue
    at = endOf(path, piece, at)
    if (at < 0) return false
  }
  if (isAnchored) return path.length - last.length >= at && path.endsWith(last)
  return last === "" || endOf(path, last, at) >= 0
}

/** The longest matching rule wins. Between equally long rules, `Allow` wins. */
export const allowsPage = (rules: RobotsRules, { pathname, search }: Pick<URL, "pathname" | "search">): boolean => {
  const path = normalize(`${pathname}${search}`)
  if (path === "/robots.txt") return true
  if (path.length * rules.filter(isWildcard).length > maxWildcardSteps) return false
  let decisive: RobotsRule | undefined
  for (const rule of rules) {
    const difference = rule.pattern.length - (decisive?.pattern.length ?? 0)
    if (decisive !== undefined && (difference < 0 || (difference === 0 && !rule.isAllowed))) continue
    if (matches(path, rule.pattern)) decisive = rule
  }
  return decisive?.isAllowed ?? true
}
