// Splits documents and queries alike: `Promise.any` has the parts "promise" and "any" and the compound "promiseany".

export interface Word {
  readonly parts: ReadonlyArray<string>
  /** The joined word, and each of its joined camelCase parts. Empty for a plain word. */
  readonly compounds: ReadonlyArray<string>
}

const maxPartUnits = 40

/** Longer names are paths or URLs, which nobody searches in joined form. */
const maxCompoundParts = 5

/** Without this list, "java" would find pages about JavaScript. */
const indivisible = new Set(
  (
    "javascript typescript coffeescript github gitlab youtube linkedin postgresql mysql sqlite mongodb graphql " +
    "openapi iphone ipad macos webgl webgpu opengl latex wordpress paypal whatsapp kubernetes powershell nginx"
  ).split(" ")
)

/** Letters and digits, with characters that join names and the suffixes of C++ and C#. */
const wordPattern = /[\p{L}\p{N}\p{M}]+(?:(?:[.:_/-]|::|['’])[\p{L}\p{N}\p{M}]+)*(?:\+\+|#(?![\p{L}\p{N}]))?/gu

const possessive = /['’]s$/i
const apostrophe = /['’]/g

/** A dot between digits belongs to the number: `GPL-3.0`. */
const joints = /::|[:_/-]|\.(?!\d)|(?<!\d)\./

const humps = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u

/** Plural acronyms such as "APIs" are not camelCase. */
const acronyms = /^\p{Lu}{2,}s$/u

const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]/u
const runs =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{M}ー]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range covers all of ASCII.
const ascii = /^[\x00-\x7f]*$/

const letters: Readonly<Record<string, string>> = {
  ß: "ss",
  ø: "o",
  æ: "ae",
  œ: "oe",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ı: "i"
}

/** Lower-cases text and removes accents: `Straße` becomes `strasse`. */
export const fold = (text: string): string =>
  ascii.test(text)
    ? text.toLowerCase()
    : text
        .toLowerCase()
        .normalize("NFKD")
        .replace(/[\u0300-\u036f]/g, "")
        .replace(/[ßøæœłđðþı]/g, (letter) => letters[letter] ?? letter)
        .normalize("NFC")

const partsOf = (joined: string): ReadonlyArray<string> => {
  const lower = joined.toLowerCase()
  if (indivisible.has(lower) || acronyms.test(joined)) return [lower]
  return joined.split(humps).map((part) => part.toLowerCase())
}

const cut = (part: string): string => part.slice(0, maxPartUnits).toWellFormed()

const none: ReadonlyArray<string> = []

/** Most words match this and need no splitting. */
const simple = /^\p{Lu}?[\p{Ll}\p{N}]*$/u

const wordOf = (match: string): Word => {
  if (simple.test(match)) return { parts: [cut(match.toLowerCase())], compounds: none }
  const name = match.replace(possessive, "").replace(apostrophe, "")
  const groups = name
    .split(joints)
    .filter((piece) => piece !== "")
    .map(partsOf)
  const parts = groups.flat()
  const compounds = new Set<string>()
  for (const group of groups) if (group.length > 1) compounds.add(cut(group.join("")))
  if (groups.length > 1 && groups.length <= maxCompoundParts) compounds.add(cut(parts.join("")))
  return { parts: parts.map(cut), compounds: [...compounds] }
}

/** Single characters and overlapping pairs. Combining marks belong to the previous letter. */
const unspacedWords = (run: string): ReadonlyArray<string> => {
  const characters = Array.from(run.toLowerCase().matchAll(/\P{M}\p{M}*/gu), ([character]) => character)
  return characters.flatMap((character, index) => {
    const next = characters[index + 1]
    return next === undefined ? [character] : [character, character + next]
  })
}

function* mixedWords(match: string): Generator<Word> {
  for (const [run] of match.matchAll(runs)) {
    if (!unspaced.test(run)) yield wordOf(run)
    else for (const part of unspacedWords(run)) yield { parts: [part], compounds: none }
  }
}

export const wordsOf = (text: string, maxWords: number): ReadonlyArray<Word> => {
  const isAscii = ascii.test(text)
  const words: Array<Word> = []
  for (const [match] of (isAscii ? text : text.normalize("NFKC")).matchAll(wordPattern)) {
    if (isAscii || !unspaced.test(match)) words.push(wordOf(match))
    else words.push(...mixedWords(match).take(maxWords - words.length))
    if (words.length === maxWords) return words
  }
  return words
}

export const isUnspaced = (part: string): boolean => unspaced.test(part)

/** Folded words surrounded by spaces, so that a phrase can be found as a substring. */
export const phraseText = (text: string): string => {
  const words = fold(text.replace(apostrophe, "")).match(/[\p{L}\p{N}\p{M}+#]+/gu) ?? []
  return ` ${words.map((word) => (unspaced.test(word) ? (word.match(/\P{M}\p{M}*/gu) ?? []).join(" ") : word)).join(" ")} `
}
