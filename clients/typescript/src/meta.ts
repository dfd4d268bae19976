/** The headers of an answer about the caller's credits and limits. */
export interface Meta {
  readonly status: number
  readonly requestId: string | undefined
  /** Credits that this answer was charged; 0 for a replay. A stream has them in its summary. */
  readonly creditsUsed: number | undefined
  /** True where the answer of an earlier request with the same idempotency key came again. */
  readonly replayed: boolean
  readonly rateLimit: { readonly limit: number; readonly remaining: number; readonly resetsAt: Date } | undefined
  /** The period's quota as the request arrived. `resetsAt` is undefined on the trial, whose credits never come again. */
  readonly quota:
    | { readonly limit: number; readonly used: number; readonly remaining: number; readonly resetsAt: Date | undefined }
    | undefined
  /** Pack credits left after the answer. */
  readonly balance: number | undefined
}

export const metaOf = ({ headers, status }: Response): Meta => {
  const number = (name: string): number | undefined => {
    const text = headers.get(name)
    return text === null ? undefined : Number(text)
  }
  const figures = (prefix: string) => {
    const limit = number(`${prefix}-limit`)
    const reset = number(`${prefix}-reset`)
    const resetsAt = reset === undefined ? undefined : new Date(reset * 1000)
    return limit === undefined ? undefined : { limit, remaining: number(`${prefix}-remaining`) ?? 0, resetsAt }
  }
  const rateLimit = figures("x-ratelimit")
  const quota = figures("x-quota")
  return {
    status,
    requestId: headers.get("x-request-id") ?? undefined,
    creditsUsed: number("x-credits-used"),
    replayed: headers.has("idempotent-replayed"),
    rateLimit: rateLimit && { ...rateLimit, resetsAt: rateLimit.resetsAt ?? new Date(0) },
    quota: quota && { ...quota, used: number("x-quota-used") ?? 0 },
    balance: number("x-credits-balance")
  }
}
