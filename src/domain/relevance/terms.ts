import { stemmer } from "stemmer"

/**
 * Cuts texts into the terms of the built-in index. Documents and queries get the same terms, so that plurals, letter case,
 * hyphens, camelCase and dotted names meet: `Promise.any` has the terms of "promise any", and `promiseany` besides.
 */

/** A word of a text with the terms that it is found by. */
export interface Word {
  /** Its parts, in order: `flatMap` has `flat` and `map`, a plain word only itself. */
  readonly parts: ReadonlyArray<string>
  /** The word written together, and each of its camelCase parts written together. Empty for a plain word. */
  readonly compounds: ReadonlyArray<string>
  /** The parts without stemming, from which neighbours are written together. */
  readonly written: string
}

/** Longer terms are cut, in documents and queries alike. */
const maxTermUnits = 40

/** Written together, a name of more parts is looked for by nobody: it is a path or an address. */
const maxCompoundParts = 5

/** Names in camelCase that are one word to readers. Without these, "java" would find every page about JavaScript. */
const indivisible = new Set(
  (
    "javascript typescript coffeescript github gitlab youtube linkedin postgresql mysql sqlite mongodb graphql " +
    "openapi iphone ipad macos webgl webgpu opengl latex wordpress paypal whatsapp kubernetes powershell nginx"
  ).split(" ")
)

/** A run of letters and digits, with the signs that join names and the signs of C++ and C#. */
const wordPattern = /[\p{L}\p{N}\p{M}]+(?:(?:[.:_/-]|::|['’])[\p{L}\p{N}\p{M}]+)*(?:\+\+|#(?![\p{L}\p{N}]))?/gu

const possessive = /['’]s$/
const apostrophe = /['’]/g

/** Signs that join the parts of a name. A dot between digits belongs to the number: `GPL-3.0`. */
const joints = /::|[:_/-]|\.(?!\d)|(?<!\d)\./

/** The beginnings of the parts of a camelCase name: `useChat`, `XMLHttpRequest`. */
const humps = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u

/** Scripts without spaces between words. A run of them is read as its overlapping pairs. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

const plainWord = /^[a-z]{3,}$/

const stem = (word: string): string => (plainWord.test(word) ? stemmer(word) : word).slice(0, maxTermUnits)

const withoutMarks = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII, for which there is nothing to do.
  /^[\x00-\x7f]*$/.test(text)
    ? text
    : text
        .normalize("NFKD")
        .replace(/[\u0300-\u036f]/g, "")
        .normalize("NFC")

const pairsOf = (run: string): ReadonlyArray<string> => {
  const characters = Array.from(run)
  return characters.length < 2 ? characters : characters.slice(1).map((next, index) => `${characters[index]}${next}`)
}

/** The plural of an acronym, "APIs", has no humps. */
const acronyms = /^\p{Lu}{2,}s$/u

/** The parts of a name between its joints and humps, in lower case and not stemmed. */
const partsOf = (joined: string): ReadonlyArray<string> => {
  const lower = joined.toLowerCase()
  if (unspaced.test(joined)) return pairsOf(lower)
  if (indivisible.has(lower) || acronyms.test(joined)) return [lower]
  return joined.split(humps).map((part) => part.toLowerCase())
}

/** Most words of a text, for which the patterns above have nothing to do. */
const simple = /^[A-Za-z]?[a-z0-9]*$/

/**
 * Words that were read before: stemming is the greatest cost of reading a document, and texts repeat their words. A longer
 * piece of a text would keep the whole text in memory.
 */
const simpleWords = new Map<string, Word>()
const maxSimpleWords = 20_000
const maxSimpleWordUnits = 12

const none: ReadonlyArray<string> = []

const simpleWord = (match: string): Word => {
  const written = match.toLowerCase()
  const word = { parts: [stem(written)], compounds: none, written }
  if (match.length > maxSimpleWordUnits) return word
  if (simpleWords.size >= maxSimpleWords) simpleWords.clear()
  simpleWords.set(match, word)
  return word
}

const wordOf = (match: string): Word => {
  const known = simpleWords.get(match)
  if (known !== undefined) return known
  if (simple.test(match)) return simpleWord(match)
  const name = match.replace(possessive, "").replace(apostrophe, "")
  const pieces = name.split(joints).filter((piece) => piece !== "")
  const groups = pieces.map(partsOf)
  const parts = groups.flat()
  if (unspaced.test(name)) return { parts, compounds: [], written: "" }
  const compounds = new Set<string>()
  for (const group of groups) if (group.length > 1) compounds.add(stem(group.join("")))
  if (groups.length > 1 && groups.length <= maxCompoundParts) compounds.add(stem(parts.join("")))
  return { parts: parts.map(stem), compounds: [...compounds], written: parts.join("") }
}

/** The words of a text, at most `maxWords` of them. */
export const wordsOf = (text: string, maxWords: number): ReadonlyArray<Word> => {
  const words: Array<Word> = []
  for (const [match] of withoutMarks(text).matchAll(wordPattern)) {
    words.push(wordOf(match))
    if (words.length === maxWords) break
  }
  return words
}

/** The terms of words in the order of the text: the parts of each, then what they are together. */
export const termsOf = (words: ReadonlyArray<Word>): ReadonlyArray<string> =>
  words.flatMap(({ compounds, parts }) => (compounds.length === 0 ? parts : [...parts, ...compounds]))

/** Neighbours as one term, so that "local storage" and "localStorage" meet. */
export const together = (left: Word, right: Word): string | undefined =>
  left.written === "" || right.written === "" ? undefined : stem(left.written + right.written)

/** Short and long forms of one word of the trade. A search for one of them finds the other. */
const synonyms = new Map(
  [
    ["postgres", "postgresql"],
    ["js", "javascript"],
    ["ts", "typescript"],
    ["regex", "regexp"],
    ["k8s", "kubernetes"],
    ["db", "database"],
    ["repo", "repository"],
    ["config", "configuration"],
    ["param", "parameter"],
    ["env", "environment"],
    ["docs", "documentation"],
    ["auth", "authentication"],
    ["a11y", "accessibility"],
    ["i18n", "internationalization"],
    ["l10n", "localization"]
  ].flatMap(
    ([short = "", long = ""]): ReadonlyArray<readonly [string, string]> => [
      [stem(short), stem(long)],
      [stem(long), stem(short)]
    ]
  )
)

/** The other form of a term: `postgresql` of `postgr`. */
export const synonymOf = (term: string): string | undefined => synonyms.get(term)

/** Longer titles are no names. */
const maxNameWords = 8

/** A text as a name: equal for names that differ in case, signs and plural only. Long texts are no names. */
export const nameOf = (words: ReadonlyArray<Word>): string | undefined =>
  words.length === 0 || words.length > maxNameWords
    ? undefined
    : words
        .flatMap(({ parts }) => parts)
        .join(".")
        .slice(0, 200)

/** Words that say how a thing is asked for and seldom what: they need not be in a document. */
const fillers = new Set(
  (
    "a an and are as at be by can could did do does doing for from get had has have how i if in into is it its me my " +
    "no not of on or our should so that the their them there these they this to us use using was we were what when " +
    "where which while who why will with would you your best way vs between about because cannot cant didnt doesnt dont isnt wont uncaught foo bar"
  )
    .split(" ")
    .map(stem)
)

export const isFiller = (word: Word): boolean => {
  const [only] = word.parts
  return word.parts.length === 1 && only !== undefined && fillers.has(only)
}
