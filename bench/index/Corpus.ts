import type { Document } from "../../src/services/index/DocumentIndex.ts"

/**
 * Documents whose words are distributed as in real text: the word of rank r has a frequency proportional to
 * 1 / (r + 2.7)^1.07 (Zipf and Mandelbrot), over half a million words, so that new words keep coming as documents are
 * added and a few words are in most documents. A title has 3 to 9 words, a description 12 to 40; one document in ten has
 * 200 words of content. The words of a title come from the rarer end, as in real titles, and come again in the
 * description. 5,000 sites, also by Zipf.
 */
const vocabulary = 500_000
const sites = 5_000
const exponent = 1.07
const shift = 2.7

/** Random numbers in [0, 1) that are the same in each run (mulberry32). */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Draws ranks from a Zipf distribution by inverting the integral of its density. */
const rankFrom = (most: number) => {
  const power = 1 - exponent
  const low = (1 + shift) ** power
  const high = (most + shift) ** power
  return (random: () => number): number => Math.floor((low + random() * (high - low)) ** (1 / power) - shift)
}

const wordRank = rankFrom(vocabulary)
const siteRank = rankFrom(sites)

const consonants = "bdfgklmnprstvz"
const vowels = "aeiou"

/** The word of a rank, built from syllables so that frequent words are short. */
export const wordOfRank = (rank: number): string => {
  let rest = rank
  let word = ""
  do {
    word += `${consonants[rest % 14]}${vowels[Math.floor(rest / 14) % 5]}`
    rest = Math.floor(rest / 70)
  } while (rest > 0)
  return word.length < 4 ? `${word}n` : word
}

const between = (random: () => number, least: number, most: number): number =>
  least + Math.floor(random() * (most - least + 1))

/** Generates the document with this number, the same in each run. */
export const documentOf = (number: number): Document => {
  const random = randomFrom(number * 7_919 + 1)
  const words = (count: number, least: number) =>
    Array.from({ length: count }, () => wordOfRank(Math.max(least, wordRank(random))))
  const title = words(between(random, 3, 9), 30)
  const description = words(between(random, 12, 40), 0)
  for (const word of title) description[Math.floor(random() * description.length)] = word
  const content = random() < 0.1 ? { content: words(200, 0).join(" ") } : {}
  const site = wordOfRank(siteRank(random) + 1_000)
  return {
    url: `https://www.${site}.example/${title.slice(0, 3).join("-")}/${number}`,
    title: title.join(" "),
    description: `${description.join(" ")}.`,
    ...content,
    language: "en"
  }
}

/** A query of words that occur together in a document, so that frequent words are searched for frequently. */
export const queryFor = (random: () => number, documents: number, words: number): string => {
  const { description, title } = documentOf(Math.floor(random() * documents))
  const text = (random() < 0.5 ? title : description).replace(".", "").split(" ")
  const start = Math.floor(random() * Math.max(1, text.length - words))
  return text.slice(start, start + words).join(" ")
}

/** The most expensive queries: up to 400 characters of frequent words, phrases, prefixes and operators. */
export const greedyQuery = (random: () => number): string => {
  const style = Math.floor(random() * 6)
  const most = [5, 50, 1_000, vocabulary][Math.floor(random() * 4)] ?? 5
  const words: Array<string> = []
  while (words.join(" ").length < 400) {
    const word = wordOfRank(Math.floor(random() * most))
    words.push(random() < 0.1 ? word.slice(0, 3) : word)
  }
  const joined = {
    0: () => words.join(" "),
    1: () => words.join(" or "),
    2: () => `"${words.join(" ")}"`,
    3: () => words.map((word, index) => (index % 3 === 0 ? `-${word}` : word)).join(" "),
    4: () => words.join("."),
    5: () => words.map((word) => `"${word} ${word}"`).join(" ")
  }[style]
  return (joined?.() ?? "").slice(0, between(random, 20, 400)).trim()
}
