import { stemmer as danish } from "@orama/stemmers/danish"
import { stemmer as dutch } from "@orama/stemmers/dutch"
import { stemmer as english } from "@orama/stemmers/english"
import { stemmer as finnish } from "@orama/stemmers/finnish"
import { stemmer as french } from "@orama/stemmers/french"
import { stemmer as german } from "@orama/stemmers/german"
import { stemmer as italian } from "@orama/stemmers/italian"
import { stemmer as norwegian } from "@orama/stemmers/norwegian"
import { stemmer as portuguese } from "@orama/stemmers/portuguese"
import { stemmer as russian } from "@orama/stemmers/russian"
import { stemmer as spanish } from "@orama/stemmers/spanish"
import { stemmer as swedish } from "@orama/stemmers/swedish"
import { stopwords as danishStops } from "@orama/stopwords/danish"
import { stopwords as dutchStops } from "@orama/stopwords/dutch"
import { stopwords as englishStops } from "@orama/stopwords/english"
import { stopwords as finnishStops } from "@orama/stopwords/finnish"
import { stopwords as frenchStops } from "@orama/stopwords/french"
import { stopwords as germanStops } from "@orama/stopwords/german"
import { stopwords as italianStops } from "@orama/stopwords/italian"
import { stopwords as norwegianStops } from "@orama/stopwords/norwegian"
import { stopwords as portugueseStops } from "@orama/stopwords/portuguese"
import { stopwords as russianStops } from "@orama/stopwords/russian"
import { stopwords as spanishStops } from "@orama/stopwords/spanish"
import { stopwords as swedishStops } from "@orama/stopwords/swedish"
import { fold, isUnspaced } from "./words.ts"

type Forms = ReadonlyArray<string>

interface Language {
  readonly forms: (word: string) => Forms
  readonly stopWords: ReadonlySet<string>
}

/** Shorter words have no endings, and words with digits are names. */
const stemmed = /^\p{L}{3,}$/u

const makeForms = (word: string, stemOf: (word: string) => string): Forms => {
  if (isUnspaced(word)) return [word]
  const exact = fold(word)
  const stem = stemmed.test(word) ? fold(stemOf(word)) : exact
  return exact === stem ? [stem] : [stem, `=${exact}`]
}

/** Limits each of the cache's two generations. Stemming is expensive, and texts repeat their words. */
const maxKnownWords = 20_000
const maxKnownUnits = 16

const cached = (make: (word: string) => Forms) => {
  let current = new Map<string, Forms>()
  let previous = new Map<string, Forms>()
  return (word: string): Forms => {
    const known = current.get(word)
    if (known !== undefined) return known
    const forms = previous.get(word) ?? make(word)
    if (word.length > maxKnownUnits) return forms
    if (current.size === maxKnownWords) {
      previous = current
      current = new Map()
    }
    current.set(word, forms)
    return forms
  }
}

const language = (stemOf: (word: string) => string, stopWords: ReadonlyArray<string>): Language => ({
  forms: cached((word) => makeForms(word, stemOf)),
  stopWords: new Set(stopWords.map((word) => fold(word.replaceAll("'", ""))))
})

const norwegianLanguage = language(norwegian, norwegianStops)

const languages: ReadonlyMap<string, Language> = new Map([
  // The package's list lacks only this word.
  ["en", language(english, [...englishStops, "a"])],
  ["de", language(german, germanStops)],
  ["fr", language(french, frenchStops)],
  ["es", language(spanish, spanishStops)],
  ["it", language(italian, italianStops)],
  ["pt", language(portuguese, portugueseStops)],
  ["nl", language(dutch, dutchStops)],
  ["sv", language(swedish, swedishStops)],
  ["da", language(danish, danishStops)],
  ["no", norwegianLanguage],
  ["nb", norwegianLanguage],
  ["nn", norwegianLanguage],
  ["fi", language(finnish, finnishStops)],
  ["ru", language(russian, russianStops)]
])

const otherLanguage = language((word) => word, [])

/** The folded stem, and the exact word after `=` if it differs. `word` must be in lower case. */
export const formsOf = (word: string, code: string): Forms => (languages.get(code) ?? otherLanguage).forms(word)

export const stemOf = (word: string, code: string): string => formsOf(word, code)[0] ?? word

export const isStopWord = (word: string, code: string): boolean => languages.get(code)?.stopWords.has(word) ?? false

const minStopWords = 2

/** English if unclear. `words` must be folded. */
export const guessLanguage = (words: ReadonlyArray<string>): string => {
  let best = "en"
  let most = minStopWords - 1
  for (const [code, { stopWords }] of languages) {
    const count = words.reduce((sum, word) => sum + (stopWords.has(word) ? 1 : 0), 0)
    if (count > most) {
      best = code
      most = count
    }
  }
  return best
}
