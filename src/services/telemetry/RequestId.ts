import { Context } from "effect"

export const RequestId = Context.Reference<string | undefined>("quarry/services/RequestId", {
  defaultValue: () => undefined
})
