import { formatNumber, formatPercent } from "../../format.ts"

export interface MeterProps {
  readonly label: string
  readonly used: number
  readonly of: number
  /** For a share of which all is not too much. */
  readonly isHarmless?: boolean
}

const warnShare = 0.9

export const Meter = ({ isHarmless = false, label, of, used }: MeterProps) => {
  const share = of === 0 ? 0 : Math.min(1, used / of)
  const text = `${label}: ${formatNumber(used)} of ${formatNumber(of)}, ${formatPercent(share)}`
  return (
    <div class={share >= warnShare && !isHarmless ? "meter warn" : "meter"} role="img" aria-label={text} title={text}>
      {used > 0 && <span style={{ inlineSize: `${share * 100}%` }} />}
    </div>
  )
}
