import { targetLabels } from "../../app/facts.ts"
import { labelIn, targetTextIn } from "../../search/targetLabels.ts"

export const targetText = (target: string): string => targetTextIn(targetLabels, target)

export const aboutTarget = (target: string): string | undefined => labelIn(targetLabels, target).about

export const TargetName = ({ target }: { readonly target: string }) => {
  const { name } = labelIn(targetLabels, target)
  return (
    <span class="target-name">
      <code>{target}</code> {name !== undefined && <bdi class="soft">{name}</bdi>}
    </span>
  )
}
