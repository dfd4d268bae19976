import type { TargetLabel, TargetLabels } from "../../domain/search/TargetLabels.ts"

/** The operator's names are shown beside the identifiers, never instead of them. */

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : undefined

const labelOf = (value: unknown): TargetLabel => {
  if (typeof value !== "object" || value === null) return {}
  const name = "name" in value ? textOf(value.name) : undefined
  const about = "about" in value ? textOf(value.about) : undefined
  return { ...(name === undefined ? {} : { name }), ...(about === undefined ? {} : { about }) }
}

/** Leaves out anything unreadable, so a bad label cannot stop the dashboard. */
export const parseTargetLabels = (text: string | undefined): TargetLabels => {
  try {
    const parsed: unknown = JSON.parse(text ?? "{}")
    if (typeof parsed !== "object" || parsed === null) return {}
    return Object.fromEntries(Object.entries(parsed).map(([target, label]) => [target, labelOf(label)]))
  } catch {
    return {}
  }
}

export const labelIn = (labels: TargetLabels, target: string): TargetLabel =>
  Object.entries(labels).find(([known]) => known === target)?.[1] ?? {}

/** First-strong isolates keep a right-to-left name from reordering the text around it. */
const isolated = (text: string): string => `\u2068${text}\u2069`

export const targetTextIn = (labels: TargetLabels, target: string): string => {
  const { name } = labelIn(labels, target)
  return name === undefined ? target : `${target} — ${isolated(name)}`
}
