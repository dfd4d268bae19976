import { Context } from "effect"

/** The ID of the request that a fiber works for (R2), recorded in log entries. Undefined outside requests. */
export const RequestId = Context.Reference<string | undefined>("quarry/services/RequestId", {
  defaultValue: () => undefined
})
