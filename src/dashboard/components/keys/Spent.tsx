import type { Key } from "../../api/routes.ts"
import { periodWords } from "../../bounds.ts"
import { formatNumber } from "../../format.ts"
import { Meter } from "../ui/Meter.tsx"

export const Spent = ({ budget }: Pick<Key, "budget">) =>
  budget === null ? (
    <span class="soft">No limit</span>
  ) : (
    <span class="budget">
      {`${formatNumber(budget.spent)} of ${formatNumber(budget.credits)} ${periodWords[budget.period]}`}
      <Meter label="Budget spent" used={budget.spent} of={budget.credits} />
    </span>
  )
