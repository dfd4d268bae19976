import { Schema } from "effect"

/** In the order of the interface specification. The first is the default. */
export const targets = [
  "alpha_search",
  "beta_search",
  "gamma_search",
  "delta_search",
  "epsilon_search",
  "zeta_search"
] as const

export const Target = Schema.Literals(targets).annotate({
  identifier: "Target",
  description: "Search target",
  message: `must be one of ${targets.join(", ")}`
})
export type Target = typeof Target.Type

export const pageTarget = "page"

export const allTargets = [...targets, pageTarget] as const

export const AnyTarget = Schema.Literals(allTargets).annotate({
  identifier: "AnyTarget",
  description: "A search target, or `page` for reading pages",
  message: `must be one of ${allTargets.join(", ")}`
})
export type AnyTarget = typeof AnyTarget.Type

export const safeLevels = ["off", "moderate", "strict"] as const

export const Safe = Schema.Literals(safeLevels).annotate({
  identifier: "Safe",
  description: "Safe-search level",
  message: `must be one of ${safeLevels.join(", ")}`
})
export type Safe = typeof Safe.Type

export interface TargetRules {
  readonly maxPage: number
  readonly maxNum: number
  readonly safe: boolean
  /** True if a page above 5 is `invalid_request` and not `unsupported_parameter` (R7). */
  readonly highPageIsInvalid: boolean
}

export const targetRules: { readonly [T in Target]: TargetRules } = {
  alpha_search: { maxPage: 5, maxNum: 20, safe: true, highPageIsInvalid: true },
  beta_search: { maxPage: 1, maxNum: 20, safe: true, highPageIsInvalid: false },
  gamma_search: { maxPage: 1, maxNum: 10, safe: false, highPageIsInvalid: false },
  delta_search: { maxPage: 1, maxNum: 10, safe: true, highPageIsInvalid: false },
  epsilon_search: { maxPage: 5, maxNum: 20, safe: true, highPageIsInvalid: false },
  zeta_search: { maxPage: 5, maxNum: 10, safe: false, highPageIsInvalid: true }
}
