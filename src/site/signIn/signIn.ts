import { Effect } from "effect"
import { consentPath, failurePath, signInPath } from "../../domain/accounts/OAuth.ts"
import { type IdentityProvider, SignIn, type SignInError } from "../../services/accounts/SignIn.ts"
import * as pages from "../html/pages.ts"
import { authorizationRequestIn, canonicalQuery, readAuthorizationRequest } from "./authorizationRequest.ts"
import { currentBrowser, queryText, readForm, secretIn } from "./browser.ts"
import { errorResponse } from "./errorResponse.ts"
import { pageResponse, redirectResponse } from "./responses.ts"

/** The library stores the query in a cookie at twice its length; browsers limit cookies to 4096 bytes. */
export const maxCarriedCharacters = 1_600

export const formTargetsOf = (providers: ReadonlyArray<IdentityProvider>) =>
  providers.map(({ formTarget }) => formTarget)

export const signInResponse = Effect.fnUntraced(function* (
  request: pages.AppRequest,
  status = 200,
  previous: pages.PreviousForm = {}
) {
  const signIn = yield* SignIn
  const page = pages.signIn({ ...signIn, request, ...previous })
  return pageResponse(page, { status, formTargets: formTargetsOf(signIn.providers) })
})

const failedResponse = Effect.fnUntraced(function* (error: SignInError, request: pages.AppRequest, email = "") {
  const signIn = yield* SignIn
  const page = (notice: string) => pages.signIn({ ...signIn, request, email, notice })
  return errorResponse(error, page, formTargetsOf(signIn.providers))
})

export const show = Effect.gen(function* () {
  const { request } = yield* readAuthorizationRequest(canonicalQuery(yield* queryText))
  return yield* signInResponse(request)
})

const submitPassword = Effect.fnUntraced(function* (form: URLSearchParams, request: pages.AppRequest) {
  const signIn = yield* SignIn
  const email = form.get("email") ?? ""
  return yield* signIn
    .withPassword(yield* currentBrowser, {
      email,
      password: secretIn(form, "password"),
      authorizationRequest: request.query,
      returnPath: `${signInPath}?${request.query}`
    })
    .pipe(
      Effect.map(redirectResponse),
      Effect.catch((error) => failedResponse(error, request, email))
    )
})

const submitProvider = Effect.fnUntraced(function* (name: string, request: pages.AppRequest) {
  const signIn = yield* SignIn
  const provider = signIn.providers.find(({ id }) => id === name)
  if (provider === undefined)
    return yield* signInResponse(request, 400, {
      notice: "This sign-in method is not available. Choose another one."
    })
  if (request.query.length > maxCarriedCharacters) {
    return yield* signInResponse(request, 400, {
      notice: `The request from ${request.appName} is too long for this sign-in method. Sign in to the dashboard first, then connect the app again.`
    })
  }
  const paths = { returnPath: `${consentPath}?${request.query}`, failurePath }
  return yield* signIn.atProvider(yield* currentBrowser, provider.id, paths).pipe(
    Effect.map(redirectResponse),
    Effect.catch((error) => failedResponse(error, request))
  )
})

export const submit = Effect.gen(function* () {
  const form = yield* readForm
  const { request } = yield* authorizationRequestIn(form)
  const provider = form.get("provider")
  return yield* provider === null ? submitPassword(form, request) : submitProvider(provider, request)
})
