import type { HttpServerResponse } from "effect/http"
import { waitText } from "../../domain/text.ts"
import type { SignInError } from "../../services/accounts/SignIn.ts"
import type * as pages from "../html/pages.ts"
import { pageResponse, withRetryAfter } from "./responses.ts"

interface Notice {
  readonly status: number
  readonly text: string
}

const fieldNames = { code: "The code", email: "The address", password: "The password", token: "The link" } as const

const noticeOf = (error: SignInError): Notice => {
  switch (error._tag) {
    case "InvalidCredentials":
      return { status: 401, text: "The email address or password is incorrect." }
    case "AddressUnconfirmed":
      return {
        status: 401,
        text: "This email address is not confirmed yet. Open the link we sent to it, then sign in here."
      }
    case "TooManyAttempts":
      return {
        status: 429,
        text: error.reason ?? `Too many attempts. Try again in ${waitText(error.retryAfterSeconds)}.`
      }
    case "SignUpDenied":
      return { status: 403, text: error.message }
    case "InvalidField":
      return { status: 400, text: `${fieldNames[error.field]} ${error.message}.` }
    case "SignInFailed":
      return { status: 400, text: error.message }
  }
}

export const errorResponse = (
  error: SignInError,
  page: (notice: string) => pages.Page,
  formTargets: ReadonlyArray<string> = []
): HttpServerResponse.HttpServerResponse => {
  const { status, text } = noticeOf(error)
  const response = pageResponse(page(text), { status, formTargets })
  return error._tag === "TooManyAttempts" ? withRetryAfter(response, error.retryAfterSeconds) : response
}
