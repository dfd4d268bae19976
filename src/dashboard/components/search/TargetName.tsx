import { targetLabels } from "../../app/facts.ts"
import { labelIn, targetTextIn } from "../../search/targetLabels.ts"

/** The identifier and the operator's name, as plain text. */
export const targetText = (target: string): string => targetTextIn(targetLabels, target)

/** The operator's sentence about the target. */
export const aboutTarget = (target: string): string | undefined => labelIn(targetLabels, target).about

/** The identifier, with the operator's name below it. */
export const TargetName = ({ target }: { readonly target: string }) => {
  const { name } = labelIn(targetLabels, target)
  return (
    <span class="target-name">
      <code>{target}</code> {name !== undefined && <bdi class="soft">{name}</bdi>}
    </span>
  )
}
