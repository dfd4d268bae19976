import { isFiller, nameOf, synonymOf, termsOf, together, type Word, wordsOf } from "./terms.ts"

/** A term that may stand for a slot of the query. */
export interface Alternative {
  readonly term: string
  /** 1 for what the query says, less for what it may mean: a word that is spelt like it or begins with it. */
  readonly weight: number
  /** True where every term that begins with it counts. */
  readonly prefix: boolean
}

/** One thing that a document should have. */
export interface Slot {
  readonly alternatives: ReadonlyArray<Alternative>
  /** False for words such as "how" and "the", which count but need not be there. */
  readonly required: boolean
}

/** Two slots that stand side by side in the query, and the term of both written together. */
export interface Pair {
  readonly left: number
  readonly right: number
  readonly term: string | undefined
}

/** A query in the terms of the index. */
export interface QueryTerms {
  readonly slots: ReadonlyArray<Slot>
  readonly pairs: ReadonlyArray<Pair>
  /** Names as they are written, `promiseany` for `Promise.any`: they count where they are found. */
  readonly compounds: ReadonlyArray<string>
  /** The whole query as a name, with and without words such as "what" and "is". */
  readonly names: ReadonlyArray<string>
  /** Terms in a row that a document must have, and must not. */
  readonly phrases: ReadonlyArray<string>
  readonly excludedPhrases: ReadonlyArray<string>
  readonly excluded: ReadonlyArray<string>
}

/** Words of a query that are read, and slots that a document may be asked to have. */
const maxWords = 32
export const maxRequired = 8
const maxAlternatives = 8
const maxPhrases = 4
const maxExcluded = 8

/** Pieces of a query: `-"…"`, `"…"`, `-word`, word. A quotation mark that is never closed quotes the rest. */
const piecePattern = /(-?)"([^"]*)(?:"|$)|(\S+)/g

type Piece = { readonly kind: "words" | "phrase" | "excluded" | "or"; readonly text: string }

const piecesOf = (query: string): ReadonlyArray<Piece> =>
  Array.from(query.matchAll(piecePattern), ([, minus, quoted, word = ""]): Piece => {
    if (quoted !== undefined) return { kind: minus === "-" ? "excluded" : "phrase", text: quoted }
    if (/^or$/i.test(word)) return { kind: "or", text: word }
    return /^-[^-]/u.test(word) ? { kind: "excluded", text: word } : { kind: "words", text: word }
  })

/** A word of the query; `joined` is true where it stands for one of two things around an `or`. */
interface QueryWord {
  readonly word: Word
  readonly joined: boolean
  /** True for words in quotation marks, which are never left out. */
  readonly quoted: boolean
}

const queryWordsOf = (pieces: ReadonlyArray<Piece>): ReadonlyArray<QueryWord> => {
  const wanted: Array<QueryWord> = []
  let joins = false
  for (const { kind, text } of pieces) {
    if (kind === "or") joins = wanted.length > 0
    if (kind !== "words" && kind !== "phrase") continue
    const words = wordsOf(text, maxWords)
    for (const [index, word] of words.entries()) {
      wanted.push({ word, joined: joins && index === 0, quoted: kind === "phrase" })
    }
    if (words.length > 0) joins = false
  }
  return wanted.slice(0, maxWords)
}

const exactly = (term: string): Alternative => ({ term, weight: 1, prefix: false })

/** The other form of a word counts a little less than the one that was written. */
const synonymWeight = 0.9

/** A word in quotation marks means itself alone. */
const meanings = (term: string, quoted: boolean): Array<Alternative> => {
  const synonym = quoted ? undefined : synonymOf(term)
  return [exactly(term), ...(synonym === undefined ? [] : [{ term: synonym, weight: synonymWeight, prefix: false }])]
}

/** A slot for each part of each word. Repeated words are one slot, and words around an `or` are alternatives of one. */
const slotsOf = (wanted: ReadonlyArray<QueryWord>) => {
  const hasContent = wanted.some(({ word }) => !isFiller(word))
  const slots: Array<{ alternatives: Array<Alternative>; required: boolean }> = []
  const slotOfTerm = new Map<string, number>()
  const pairs: Array<Pair> = []
  let before: { readonly word: Word; readonly slot: number } | undefined
  for (const { joined, quoted, word } of wanted) {
    const previous = slots.at(-1)
    const first = word.parts[0]
    if (joined && previous !== undefined && first !== undefined) {
      // A name of several parts is one alternative: what it is written together.
      if (previous.alternatives.length < maxAlternatives) {
        previous.alternatives.push(exactly(word.compounds.at(-1) ?? first))
      }
      before = undefined
      continue
    }
    const required = quoted || !hasContent || !isFiller(word)
    for (const [index, term] of word.parts.entries()) {
      const known = slotOfTerm.get(term)
      const slot = known ?? slots.length
      if (known === undefined) slots.push({ alternatives: meanings(term, quoted), required })
      slotOfTerm.set(term, slot)
      if (before !== undefined && before.slot !== slot) {
        pairs.push({ left: before.slot, right: slot, term: index === 0 ? together(before.word, word) : undefined })
      }
      before = { word, slot }
    }
  }
  return { slots, pairs }
}

const phraseOf = (text: string): ReadonlyArray<string> => {
  const words = wordsOf(text, maxWords)
  return words.length < 2 ? [] : [` ${termsOf(words).join(" ")} `]
}

/** One term for each excluded word: all of a name's parts are in many documents that are not about it. */
const exclusionOf = (text: string): ReadonlyArray<string> => {
  const words = wordsOf(text, maxWords)
  const [word] = words
  if (words.length !== 1 || word === undefined) return []
  return [word.compounds.at(-1) ?? word.parts.at(-1) ?? ""].filter((term) => term !== "")
}

export const readQuery = (query: string): QueryTerms => {
  const pieces = piecesOf(query)
  const wanted = queryWordsOf(pieces)
  const words = wanted.map(({ word }) => word)
  const texts = (kind: Piece["kind"]) => pieces.filter((piece) => piece.kind === kind).map(({ text }) => text)
  const names = [nameOf(words), nameOf(words.filter((word) => !isFiller(word)))]
  return {
    ...slotsOf(wanted),
    compounds: [...new Set(words.flatMap(({ compounds }) => compounds))],
    names: [...new Set(names.flatMap((name) => (name === undefined ? [] : [name])))],
    phrases: texts("phrase").flatMap(phraseOf).slice(0, maxPhrases),
    excludedPhrases: texts("excluded").flatMap(phraseOf).slice(0, maxPhrases),
    excluded: texts("excluded").flatMap(exclusionOf).slice(0, maxExcluded)
  }
}
