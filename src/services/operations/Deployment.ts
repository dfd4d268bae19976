import { Context } from "effect"

export const Deployment = Context.Reference<{
  readonly origin: string
  readonly demoOrigin: string | undefined
  /** Origins whose pages may call the API from a browser, in addition to the demo's (R48). */
  readonly corsOrigins: ReadonlyArray<string>
}>("quarry/services/Deployment", {
  defaultValue: () => ({ origin: "http://localhost:3000", demoOrigin: undefined, corsOrigins: [] })
})
