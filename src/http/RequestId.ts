import { Context } from "effect"

/** The id that a response and its error envelope carry (R2). Set by the edge for every request. */
export const RequestId = Context.Reference<string>("quarry/http/RequestId", {
  defaultValue: () => "00000000-0000-0000-0000-000000000000"
})

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a caller's id is echoed: a UUID of any version in any letter case. Anything else is replaced. */
export const isRequestId = (text: string): boolean => uuid.test(text)
