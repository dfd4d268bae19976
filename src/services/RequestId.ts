import { Context } from "effect"

/** The id of the request that a fiber works for (R2), which its log entries keep. Undefined outside requests. */
export const RequestId = Context.Reference<string | undefined>("quarry/services/RequestId", {
  defaultValue: () => undefined
})
