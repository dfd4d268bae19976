import { Effect } from "effect"
import { type IdentityProvider, SignIn, type SignInError } from "../../services/accounts/SignIn.ts"
import * as pages from "../html/pages.ts"
import { currentBrowser, queryText, secretIn } from "./browser.ts"
import {
  type Folder,
  maxCarriedCharacters,
  pathsAfterProvider,
  requestedDestination,
  submittedDestination
} from "./destination.ts"
import { errorResponse } from "./errorResponse.ts"
import { failureNotice } from "./failure.ts"
import { pageResponse, redirectResponse } from "./responses.ts"

export const formTargetsOf = (providers: ReadonlyArray<IdentityProvider>) =>
  providers.map(({ formTarget }) => formTarget)

export const signInResponse = Effect.fnUntraced(function* (
  destination: pages.Destination,
  status = 200,
  previous: pages.PreviousForm = {}
) {
  const signIn = yield* SignIn
  const page = pages.signIn({ ...signIn, destination, ...previous })
  return pageResponse(page, { status, formTargets: formTargetsOf(signIn.providers) })
})

const failedResponse = Effect.fnUntraced(function* (error: SignInError, destination: pages.Destination, email = "") {
  const signIn = yield* SignIn
  const page = (notice: string) => pages.signIn({ ...signIn, destination, email, notice })
  return errorResponse(error, page, formTargetsOf(signIn.providers))
})

export const show = Effect.fnUntraced(function* (folder: Folder) {
  const destination = yield* requestedDestination(folder)
  const parameters = new URLSearchParams(yield* queryText)
  const signIn = yield* SignIn
  const provider = signIn.providers.find(({ id }) => id === parameters.get("failed"))
  const notice = provider && failureNotice(parameters.get("error") ?? "", provider.name, signIn.hasPasswords)
  return yield* signInResponse(destination, 200, { notice })
})

const submitPassword = Effect.fnUntraced(function* (form: URLSearchParams, destination: pages.Destination) {
  const signIn = yield* SignIn
  const email = form.get("email") ?? ""
  return yield* signIn
    .withPassword(yield* currentBrowser, {
      email,
      password: secretIn(form, "password"),
      authorizationRequest: destination.app?.query,
      returnPath: destination.path
    })
    .pipe(
      Effect.map(redirectResponse),
      Effect.catch((error) => failedResponse(error, destination, email))
    )
})

const submitProvider = Effect.fnUntraced(function* (name: string, destination: pages.Destination) {
  const signIn = yield* SignIn
  const { app } = destination
  const provider = signIn.providers.find(({ id }) => id === name)
  if (provider === undefined)
    return yield* signInResponse(destination, 400, {
      notice: "This sign-in method is not available. Choose another one."
    })
  if (app !== undefined && app.query.length > maxCarriedCharacters) {
    return yield* signInResponse(destination, 400, {
      notice: `The request from ${app.appName} is too long for this sign-in method. Sign in to the dashboard first, then connect the app again.`
    })
  }
  return yield* signIn
    .atProvider(yield* currentBrowser, provider.id, pathsAfterProvider(destination, provider.id))
    .pipe(
      Effect.map(redirectResponse),
      Effect.catch((error) => failedResponse(error, destination))
    )
})

export const submit = Effect.fnUntraced(function* (folder: Folder) {
  const { destination, form } = yield* submittedDestination(folder)
  const provider = form.get("provider")
  return yield* provider === null ? submitPassword(form, destination) : submitProvider(provider, destination)
})
