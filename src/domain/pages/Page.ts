import { Data } from "effect"

export { maxPageBytes, maxPageLinks } from "./limits.ts"

export interface Document {
  readonly bytes: Uint8Array
  readonly contentType: string | undefined
  /** The URL after redirects, which is the base of relative links. */
  readonly url: string
  /** The account that pays, by which parsers are shared fairly. */
  readonly accountId: string
}

export interface PageLink {
  readonly url: string
  readonly text: string
}

/** Without hidden text and invisible control characters (R60). Unknown metadata is null. */
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

/**
 * Causes of a document without text, as reasons of `page_unreadable` (R59).
 *
 * - `too_large`: exceeds the parser's time or memory limits
 * - `timed_out`: no parser became free in time
 * - `unsupported_media_type`: the type is not supported
 * - `no_text`: no readable text is left
 * - `forbidden`: a challenge that a person has to solve
 */
export const parseFailureReasons = ["too_large", "timed_out", "unsupported_media_type", "no_text", "forbidden"] as const
export type ParseFailureReason = (typeof parseFailureReasons)[number]

export class ParseFailure extends Data.TaggedError("ParseFailure")<{ readonly reason: ParseFailureReason }> {}
