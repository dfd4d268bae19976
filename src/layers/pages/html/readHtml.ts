import type { ParsedPage, ParseFailureReason } from "../../../domain/pages/Page.ts"
import { render } from "../Rendering.ts"
import { findArticle } from "./article.ts"
import { headings } from "./blocks.ts"
import { isChallenge } from "./challenge.ts"
import { removeChrome } from "./chrome.ts"
import { readCode } from "./code.ts"
import { readFormulas } from "./formulas.ts"
import { removeHidden } from "./hidden.ts"
import { findMainRegion } from "./mainRegion.ts"
import { type Metadata, readMetadata } from "./metadata.ts"
import { normalize } from "./normalize.ts"
import { placeContent } from "./placement.ts"
import { proseLength } from "./prose.ts"
import { StyleSheet } from "./StyleSheet.ts"
import {
  attribute,
  type Element,
  findElement,
  flatten,
  type Parent,
  parseTree,
  type Root,
  removeNodes,
  textOf,
  textsOf,
  walk
} from "./Tree.ts"
import { trimArticle } from "./trim.ts"

const minArticleCharacters = 250
/**
 * The share of the main region that Readability must find. The metadata of an article declares it as such. A declared
 * main region of another page is better than a part of it.
 */
const minCoverage = { article: 0.1, declared: 0.9, other: 0.3 }

/** Falls back to the main region: of documentation, listings and forums, Readability keeps only a part. */
const findMainText = (body: Element, { isArticle, title }: Metadata): Element => {
  removeChrome(body)
  const article = findArticle(body, title ?? "")
  const region = findMainRegion(body)
  if (article === undefined) return region
  const length = proseLength(article)
  const coverage = length / Math.max(1, proseLength(region))
  const least = isArticle ? minCoverage.article : region === body ? minCoverage.other : minCoverage.declared
  if (length < minArticleCharacters || coverage < least) return region
  trimArticle(article)
  return article
}

const comparable = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()

/** Removes the first heading if it repeats the title (R58). */
export const removeTitleHeading = (root: Parent, title: string | null): void => {
  const first = findElement(root, ({ tagName }) => headings.has(tagName))
  if (first === undefined || title === null || comparable(textOf(first)) !== comparable(title)) return
  removeNodes(root, (node) => node === first)
}

const baseOf = (root: Root, url: string): string => {
  const base = findElement(root, ({ tagName }) => tagName === "base")
  return URL.parse((base && attribute(base, "href")) ?? "", url)?.href ?? url
}

const sheetOf = (root: Root): StyleSheet => {
  const sheet = new StyleSheet()
  walk(root, (element) => {
    if (element.tagName === "style") sheet.add([...textsOf(element)].join(""))
    return true
  })
  return sheet
}

const placeholder =
  /^(?:(?:loading|please wait|redirecting)\b.{0,40}|.{0,80}\b(?:enable|requires?|needs?|turn on|activate) java ?script\b.{0,200})$/i

/** Leaves only what people see, in elements that each have one meaning. */
export const readVisible = (root: Root): void => {
  placeContent(root)
  readFormulas(root)
  removeHidden(findElement(root, ({ tagName }) => tagName === "body") ?? root, sheetOf(root))
  flatten(root)
  readCode(root)
  normalize(root)
}

export const readHtml = (html: string, url: string, mediaType: string): ParsedPage | ParseFailureReason => {
  const root = parseTree(html)
  const body = findElement(root, ({ tagName }) => tagName === "body")
  if (body === undefined) return "no_text"
  const { isArticle, ...metadata } = readMetadata(root)
  const base = baseOf(root, url)
  if (isChallenge(root)) return "forbidden"
  readVisible(root)
  const main = findMainText(body, { ...metadata, isArticle })
  removeTitleHeading(main, metadata.title)
  const rendering = render(main, base)
  if (!/[\p{L}\p{N}]/u.test(rendering.text) || placeholder.test(rendering.text)) return "no_text"
  return { ...metadata, mediaType, ...rendering }
}
