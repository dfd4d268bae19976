/** The part that tests use. The package has no types, and those of `@types/oidc-provider` are for an older version. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http"

  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }

  interface Context {
    readonly oidc: {
      readonly client: { readonly clientId: string }
      readonly session: { readonly accountId: string }
      readonly provider: { readonly Grant: new (of: { clientId: string; accountId: string }) => Grant }
    }
  }

  export default class Provider {
    constructor(issuer: string, configuration: object)
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse
    ): Promise<{ readonly params: Readonly<Record<string, unknown>> }>
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: { readonly login: { readonly accountId: string } }
    ): Promise<void>
  }

  export type { Context }
}
