import { Data } from "effect"

import type { Payer } from "../fairness/Payers.ts"

export { maxPageBytes, maxPageLinks } from "./limits.ts"

export interface Document {
  readonly bytes: Uint8Array
  readonly contentType: string | undefined
  readonly url: string
  /** The account that pays, or all accounts that wait for the page. Parsers are shared fairly between accounts. */
  readonly accountId: Payer
}

export interface PageLink {
  readonly url: string
  readonly text: string
}

/** Without hidden text and invisible control characters (R60). Null: unknown. */
export interface ParsedPage {
  readonly title: string | null
  readonly description: string | null
  readonly author: string | null
  readonly siteName: string | null
  readonly published: string | null
  readonly language: string | null
  readonly mediaType: string
  /** The full text, without the first heading if it equals the title. */
  readonly markdown: string
  readonly text: string
  readonly links: ReadonlyArray<PageLink>
}

/** `too_large` includes the parser's time and memory limits; `timed_out`: no free parser; `forbidden`: a challenge. */
export const parseFailureReasons = ["too_large", "timed_out", "unsupported_media_type", "no_text", "forbidden"] as const
export type ParseFailureReason = (typeof parseFailureReasons)[number]

export class ParseFailure extends Data.TaggedError("ParseFailure")<{ readonly reason: ParseFailureReason }> {}
