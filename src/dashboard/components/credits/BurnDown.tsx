import { useId } from "preact/hooks"
import type { Point } from "../../credits/figures.ts"
import { formatCompact, formatDayAndYear, formatNumber } from "../../format.ts"
import { Table } from "../ui/Table.tsx"
import { ChartTip } from "./ChartTip.tsx"
import { usePoint } from "./usePoint.ts"
import { useWidth } from "./useWidth.ts"

export interface BurnDownProps {
  readonly points: ReadonlyArray<Point>
  readonly quota: number
  /** Unix milliseconds. */
  readonly begin: number
  readonly reset: number
}

const height = 200
const left = 44
const top = 10
const bottom = 24

const dayOf = (at: number): string => formatDayAndYear(new Date(at).toISOString())

const Drawing = ({ begin, points, quota, reset }: BurnDownProps) => {
  const id = useId()
  const [svg, width] = useWidth<SVGSVGElement>()
  const right = width - 8
  const x = (at: number): number => left + ((at - begin) / (reset - begin)) * (right - left)
  const y = (credits: number): number => top + (1 - credits / quota) * (height - top - bottom)
  const line = points.map(({ at, left }) => `${x(at).toFixed(1)},${y(left).toFixed(1)}`).join(" ")
  const last = points.at(-1)
  const { active, handlers } = usePoint(points.length, points.length - 1, (at) => {
    const distances = points.map((point) => Math.abs(x(point.at) - at))
    return distances.indexOf(Math.min(...distances))
  })
  const chosen = active === undefined ? undefined : points[active]
  return (
    <div class="plot">
      <svg
        ref={svg}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-labelledby={`${id}-t ${id}-d`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys show the figures of each point (WCAG 2.1.1).
        tabIndex={0}
        {...handlers}
      >
        <title id={`${id}-t`}>Credits left in the period</title>
        <desc id={`${id}-d`}>
          {`${formatNumber(last?.left ?? quota)} of ${formatNumber(quota)} credits are left. The table below lists each day.`}
        </desc>
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <line class="grid" x1={left} x2={right} y1={y(quota * share)} y2={y(quota * share)} />
            <text x={left - 8} y={y(quota * share) + 4} text-anchor="end">
              {formatCompact(quota * share)}
            </text>
          </g>
        ))}
        <line class="pace" x1={x(begin)} y1={y(quota)} x2={x(reset)} y2={y(0)} />
        {last && (
          <>
            <polygon class="area" points={`${x(begin)},${y(0)} ${line} ${x(last.at)},${y(0)}`} />
            <polyline class="line" points={line} />
            <circle class="dot" cx={x(last.at)} cy={y(last.left)} r="4" />
          </>
        )}
        <text x={left} y={height - 6}>
          {dayOf(begin)}
        </text>
        <text x={right} y={height - 6} text-anchor="end">
          {`Reset ${dayOf(reset)}`}
        </text>
        {chosen && <circle class="dot" cx={x(chosen.at)} cy={y(chosen.left)} r="5" />}
      </svg>
      {chosen && (
        <ChartTip
          title={active === 0 ? `Start of ${dayOf(chosen.at)}` : dayOf(chosen.at - 1)}
          share={x(chosen.at) / width}
          rows={[{ name: "credits left", colour: "c1", value: formatNumber(chosen.left) }]}
        />
      )}
    </div>
  )
}

export const BurnDown = (props: BurnDownProps) => (
  <figure class="chart">
    <Drawing {...props} />
    <details>
      <summary>Show as a table</summary>
      <Table
        caption="Credits left at the end of each day"
        rows={props.points.slice(1)}
        keyOf={({ at }) => String(at)}
        columns={[
          { name: "Day", isHeader: true, cell: ({ at }) => dayOf(at - 1) },
          { name: "Credits left", isFigure: true, cell: ({ left }) => formatNumber(left) }
        ]}
      />
    </details>
  </figure>
)
