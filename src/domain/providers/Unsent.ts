import { UpstreamError, UpstreamTimeout } from "../errors.ts"

/** The reason that a provider was not asked. `busy`: its call limits, as set by the operator, left no slot in time. */
export type UnsentReason = "cool_down" | "busy" | "paused" | "unserved"

const phrases: { readonly [R in UnsentReason]: string } = {
  cool_down: "cooling down after errors",
  busy: "at their call limits",
  paused: "paused",
  unserved: "unable to serve this search"
}

const order: ReadonlyArray<UnsentReason> = ["cool_down", "busy", "paused", "unserved"]

/** The error of a search for which no provider was asked. Names no provider: callers do not know them (R76). */
export const unsentError = (reasons: ReadonlySet<UnsentReason>): UpstreamError => {
  const given = order.filter((reason) => reasons.has(reason)).map((reason) => phrases[reason])
  const why = given.length === 0 ? "" : `, because all of them are ${given.join(" or ")}`
  const advice = reasons.has("cool_down") || reasons.has("busy") ? "try again in a minute" : "use another target"
  return new UpstreamError({
    message: `No search provider was asked${why}. Nothing was charged; ${advice}.`,
    unsent: true
  })
}

/** The error of a batch's row that got no turn at a provider before the end of its batch (R19, R77). */
export const unsentRow = (within: string): UpstreamTimeout =>
  new UpstreamTimeout({
    message: `The batch's ${within} ended before this row's turn came. It was not started and not charged; send it again.`,
    unsent: true
  })

/** The error of a request for which no provider was asked; undefined for any other end. */
export const unsentFailure = <E extends { readonly unsent?: true }>(error: E | undefined): E | undefined =>
  error?.unsent === true ? error : undefined
