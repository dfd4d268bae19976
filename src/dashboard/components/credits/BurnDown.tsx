import type { Point } from "../../credits/figures.ts"
import { formatDayAndYear, formatNumber } from "../../format.ts"
import { Table } from "../ui/Table.tsx"
import { GridLine, left, Plot } from "./Plot.tsx"

export interface BurnDownProps {
  readonly points: ReadonlyArray<Point>
  readonly quota: number
  /** Unix milliseconds. */
  readonly begin: number
  readonly reset: number
}

const height = 200
const top = 10
const bottom = 24

const dayOf = (at: number): string => formatDayAndYear(new Date(at).toISOString())

const Drawing = ({ begin, points, quota, reset }: BurnDownProps) => {
  const last = points.at(-1)
  const y = (credits: number): number => top + (1 - credits / quota) * (height - top - bottom)
  const xIn = (width: number) => (at: number) => left + ((at - begin) / (reset - begin)) * (width - 8 - left)
  return (
    <Plot
      title="Credits left in the period"
      description={`${formatNumber(last?.left ?? quota)} of ${formatNumber(quota)} credits are left. The table below lists each day.`}
      height={height}
      items={points}
      indexAt={(x, width) => {
        const distances = points.map(({ at }) => Math.abs(xIn(width)(at) - x))
        return distances.indexOf(Math.min(...distances))
      }}
      tip={({ at, left }, index, width) => ({
        title: index === 0 ? `Start of ${dayOf(at)}` : dayOf(at - 1),
        share: xIn(width)(at) / width,
        rows: [{ name: "credits left", color: "c1", value: formatNumber(left) }]
      })}
    >
      {(width, span) => {
        const x = xIn(width)
        const right = width - 8
        const line = points.map(({ at, left }) => `${x(at).toFixed(1)},${y(left).toFixed(1)}`).join(" ")
        const chosen = span && points[span.last]
        return (
          <>
            {[0, 0.5, 1].map((share) => (
              <GridLine key={share} y={y(quota * share)} right={right} value={quota * share} />
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
          </>
        )
      }}
    </Plot>
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
