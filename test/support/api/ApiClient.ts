import { Effect } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Api } from "../../../src/http/Api.ts"

/** A client derived from the API's definition, like an integrator's. Imports nothing else of the service. */
export const make = (baseUrl: string, headers: Readonly<Record<string, string>>) =>
  HttpApiClient.make(Api, {
    baseUrl,
    transformClient: HttpClient.mapRequest((request) => HttpClientRequest.setHeaders(request, headers))
  }).pipe(Effect.provide(FetchHttpClient.layer))
