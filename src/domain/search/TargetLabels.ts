import { type Target, targets } from "./Target.ts"

export interface TargetLabel {
  readonly name?: string
  readonly about?: string
}

export type TargetLabels = { readonly [T in Target]?: TargetLabel }

export const labelOf = (target: Target, labels: TargetLabels | undefined): string => {
  const name = labels?.[target]?.name
  return name === undefined ? target : `${target} (${name})`
}

/** One sentence per named target. Empty if there are none. */
export const describeTargets = (labels: TargetLabels): string =>
  targets
    .flatMap((target) => {
      const label = labels[target]
      if (label === undefined) return []
      const about = label.about === undefined ? "" : `: ${label.about}`
      return [`${labelOf(target, labels)}${about}`.replace(/\.?$/, ".")]
    })
    .join(" ")
