import { Result } from "effect"
import {
  InvalidRequest,
  internalError,
  PageUnreadable,
  UnsupportedParameter,
  UpstreamError,
  UpstreamTimeout
} from "../domain/errors.ts"
import type { PageResult } from "../domain/pages/PageBody.ts"
import { maxAgeSeconds, maxPageCharacters, type PageRequest, parsePageParameters } from "../domain/pages/PageRequest.ts"
import type { PageRowBody, PageRows } from "../domain/pages/PagesRequest.ts"
import type { RawFields } from "../domain/requests/fields.ts"
import type { PageCompatError } from "./CompatError.ts"
import type { RequestForm } from "./SearchForm.ts"

export type PageAnswer = { readonly json: unknown } | { readonly text: string }

export interface PageForm extends RequestForm {
  readonly decode: (fields: RawFields) => Result.Result<AskedPage, InvalidRequest>
}

export interface AskedPage {
  readonly request: PageRequest
  readonly answer: (page: PageResult) => PageAnswer
}

export interface ReadPages {
  readonly rows: ReadonlyArray<PageRowBody>
  readonly requestId: string
  readonly durationMs: number
}

export type FailedRow = Extract<PageRowBody, { readonly status: "error" }>

/** `E` are the errors of single pages that fail the whole request. */
export interface PagesForm<E extends PageCompatError = never> extends RequestForm {
  readonly decode: (fields: RawFields) => Result.Result<AskedPages<E>, InvalidRequest>
}

export interface AskedPages<E extends PageCompatError> {
  readonly rows: PageRows
  readonly answer: (read: ReadPages) => Result.Result<unknown, E>
}

/** Completes an address as these services do: adds `http://`, or a slash that a proxy dropped after the scheme. */
export const completeAddress = (text: string): string => {
  const [, scheme] = /^(https?):\/+/i.exec(text) ?? []
  if (scheme === undefined) return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  return text.replace(/^https?:\/+/i, `${scheme}://`)
}

export interface PageOptions {
  readonly url: string
  readonly source: string
  readonly format?: "markdown" | "text" | undefined
  readonly withLinks?: boolean | undefined
  readonly maxAgeSeconds?: number | undefined
}

/** The request for a whole page, because these services return pages in one part. */
export const toWholePage = (options: PageOptions): Result.Result<PageRequest, InvalidRequest> =>
  Result.map(parsePageParameters({ url: completeAddress(options.url) }), ({ url }) => ({
    url,
    format: options.format ?? "markdown",
    start: 0,
    maxChars: maxPageCharacters,
    withLinks: options.withLinks ?? false,
    maxAgeSeconds:
      options.maxAgeSeconds === undefined ? undefined : Math.min(Math.floor(options.maxAgeSeconds), maxAgeSeconds),
    source: options.source
  }))

export const errorOfRow = ({ error, http_status, message, reason }: FailedRow): PageCompatError => {
  if (reason !== undefined) return PageUnreadable.because(reason, http_status)
  switch (error) {
    case "invalid_request":
      return new InvalidRequest({ message, issues: [{ field: "urls", message }] })
    case "unsupported_parameter":
      return new UnsupportedParameter({ message })
    case "upstream_error":
      return new UpstreamError({ message })
    case "upstream_timeout":
      return new UpstreamTimeout({ message })
    default:
      return internalError
  }
}
