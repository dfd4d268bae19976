import type { HttpServerResponse } from "effect/http"
import { waitText } from "../../../domain/text.ts"
import type { SignInError } from "../../../services/SignIn.ts"
import type * as pages from "../../pages/pages.ts"
import { pageResponse, withRetryAfter } from "./responses.ts"

interface Notice {
  readonly status: number
  readonly text: string
}

const fieldNames = { email: "The email", password: "The password", token: "The link" } as const

/** The status and the text for a failed form. */
const noticeOf = (error: SignInError): Notice => {
  switch (error._tag) {
    case "InvalidCredentials":
      return { status: 401, text: "The email or the password is not right." }
    case "AddressUnconfirmed":
      return { status: 401, text: "Confirm your address first: the link is in your mail. Then sign in here." }
    case "TooManyAttempts":
      return { status: 429, text: `Too many attempts. Try again in ${waitText(error.retryAfterSeconds)}.` }
    case "SignUpDenied":
      return { status: 403, text: error.message }
    case "InvalidField":
      return { status: 400, text: `${fieldNames[error.field]} ${error.message}.` }
    case "SignInFailed":
      return { status: 400, text: error.message }
  }
}

/** The form's page again, with a notice about the error. */
export const errorResponse = (
  error: SignInError,
  page: (notice: string) => pages.Page,
  formTargets: ReadonlyArray<string> = []
): HttpServerResponse.HttpServerResponse => {
  const { status, text } = noticeOf(error)
  const response = pageResponse(page(text), { status, formTargets })
  return error._tag === "TooManyAttempts" ? withRetryAfter(response, error.retryAfterSeconds) : response
}
