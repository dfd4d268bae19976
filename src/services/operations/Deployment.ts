import { Context } from "effect"

export const Deployment = Context.Reference<{
  /** The origin of the public URL, in the form of the `Origin` header. */
  readonly origin: string
  /** The accepted value of `X-Demo-Origin`; undefined disables the demo. */
  readonly demoOrigin: string | undefined
  /** Origins whose pages may call the API from a browser, in addition to the demo's (R48). */
  readonly corsOrigins: ReadonlyArray<string>
}>("quarry/references/Deployment", {
  defaultValue: () => ({ origin: "http://localhost:3000", demoOrigin: undefined, corsOrigins: [] })
})
