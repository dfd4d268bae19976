import { Context } from "effect"

/** Origins that the operator has set. */
export const Deployment = Context.Reference<{
  /** Origin of the URL that clients use, in the form of the `Origin` header. */
  readonly origin: string
  /** The accepted value of `X-Demo-Origin`; undefined turns the demo off. */
  readonly demoOrigin: string | undefined
  /** Origins whose pages may call the API from a browser, beside the demo's (R48). */
  readonly corsOrigins: ReadonlyArray<string>
}>("quarry/services/Deployment", {
  defaultValue: () => ({ origin: "http://localhost:3000", demoOrigin: undefined, corsOrigins: [] })
})
