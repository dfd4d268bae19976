import type { Headers } from "effect/http"
import * as CallingPage from "../domain/accounts/CallingPage.ts"

const pageOf = (headers: Headers.Headers): CallingPage.CallingPage => ({
  origin: headers.origin,
  site: headers["sec-fetch-site"]
})

export const isOwnPage = (headers: Headers.Headers, origin: string): boolean =>
  CallingPage.isOwnPage(pageOf(headers), origin)

export const isCrossOrigin = (headers: Headers.Headers, origin: string): boolean =>
  CallingPage.isCrossOrigin(pageOf(headers), origin)
