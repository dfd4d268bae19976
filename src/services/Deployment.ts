import { Context } from "effect"

/** What an operator decided about where callers come from. */
export const Deployment = Context.Reference<{
  /** Origin of the address that clients use, as browsers send it. */
  readonly origin: string
  /** What `X-Demo-Origin` must equal; undefined turns the demo off. */
  readonly demoOrigin: string | undefined
}>("quarry/services/Deployment", {
  defaultValue: () => ({ origin: "http://localhost:3000", demoOrigin: undefined })
})
