import { linesOf } from "../../credits/axis.ts"
import { sum } from "../../credits/comparison.ts"
import type { Granularity } from "../../credits/usageFigures.ts"
import { formatNumber, formatStretch } from "../../format.ts"
import { Table } from "../ui/Table.tsx"
import { colorStyle, GridLine, left, Plot } from "./Plot.tsx"

export interface Series {
  readonly name: string
  /** A color in style.css: `ok`, `bad`, `slow`, or one of `c1` to `c8`. */
  readonly color: string
}

export interface Bar {
  readonly label: string
  readonly title: string
  readonly values: ReadonlyArray<number>
  /** True for a bar whose time is not over, which would look like a fall otherwise. */
  readonly isUnfinished?: boolean
  /** The sum in the same part of the period before. */
  readonly before?: number | undefined
}

export interface StackedBarsProps {
  readonly title: string
  readonly description: string
  readonly series: ReadonlyArray<Series>
  readonly bars: ReadonlyArray<Bar>
  readonly unit: string
  readonly height?: number
  /** Draws the bars alone: without a legend, without lines, and without the table. */
  readonly isCompact?: boolean
  readonly onPick?: (first: number, last: number) => void
}

/** The bars with the names of their hours, days, or months, in UTC. */
export const named = <B extends { readonly start: number }>(bars: ReadonlyArray<B>, granularity: Granularity) =>
  bars.map((bar) => {
    const { short, whole } = formatStretch(bar.start, granularity)
    return { ...bar, label: short, title: whole }
  })

/** For bars whose values are the searches that succeeded and those that failed. */
export const outcomeSeries: ReadonlyArray<Series> = [
  { name: "succeeded", color: "ok" },
  { name: "failed", color: "bad" }
]

const pickText = "Arrow keys choose a bar, Enter shows its searches, and Shift with the arrow keys chooses a range."

const bottom = 22
const top = 8
const labelWidth = 64
const maxBarWidth = 44

const Stack = ({
  bar,
  scale,
  series,
  x,
  y0,
  barWidth
}: {
  readonly bar: Bar
  readonly series: ReadonlyArray<Series>
  readonly scale: number
  readonly x: number
  readonly y0: number
  readonly barWidth: number
}) => {
  let y = y0
  return (
    <g class={bar.isUnfinished ? "unfinished" : undefined}>
      {series.map(({ color, name }, index) => {
        const height = (bar.values[index] ?? 0) * scale
        y -= height
        return height === 0 ? null : (
          <rect key={name} class="part" style={colorStyle(color)} x={x} y={y} width={barWidth} height={height} />
        )
      })}
      {bar.before !== undefined && (
        <line
          class="before"
          x1={x - 2}
          x2={x + barWidth + 2}
          y1={y0 - bar.before * scale}
          y2={y0 - bar.before * scale}
        />
      )}
    </g>
  )
}

const beforeName = "period before"

const tipOf = (bar: Bar, series: ReadonlyArray<Series>) => ({
  title: bar.isUnfinished ? `${bar.title}, so far` : bar.title,
  rows: [
    ...series.map(({ color, name }, index) => ({ color, name, value: formatNumber(bar.values[index] ?? 0) })),
    ...(bar.before === undefined ? [] : [{ color: "soft", name: beforeName, value: formatNumber(bar.before) }])
  ]
})

const Drawing = (props: StackedBarsProps) => {
  const { bars, description, height = 220, isCompact = false, onPick, series, title } = props
  const lines = linesOf(Math.max(1, ...bars.map(({ before = 0, values }) => Math.max(before, sum(values)))))
  const plot = height - top - bottom
  const slotIn = (width: number): number => (width - left) / Math.max(1, bars.length)
  return (
    <Plot
      title={title}
      description={`${description}.${isCompact ? "" : " The table below has the same data."}${onPick ? ` ${pickText}` : ""}`}
      height={height}
      items={bars}
      indexAt={(x, width) => Math.floor((x - left) / slotIn(width))}
      onPick={onPick}
      tip={(bar, index, width) => ({
        ...tipOf(bar, series),
        share: (left + (index + 0.5) * slotIn(width)) / width
      })}
    >
      {(width, chosen) => {
        const slot = slotIn(width)
        const labelEvery = Math.max(1, Math.ceil(labelWidth / slot))
        return (
          <>
            {lines.map((value, index) =>
              isCompact && index > 0 && index < lines.length - 1 ? null : (
                <GridLine
                  key={value}
                  y={top + plot - (index * plot) / (lines.length - 1)}
                  right={width}
                  value={value}
                />
              )
            )}
            {chosen && (
              <rect
                class="cursor"
                x={left + chosen.first * slot}
                y={top}
                width={slot * (chosen.last - chosen.first + 1)}
                height={plot}
              />
            )}
            {bars.map((bar, index) => (
              <Stack
                key={bar.title}
                bar={bar}
                series={series}
                scale={plot / (lines.at(-1) ?? 1)}
                x={left + (index + 0.5) * slot - Math.min(slot * 0.36, maxBarWidth / 2)}
                y0={top + plot}
                barWidth={Math.min(slot * 0.72, maxBarWidth)}
              />
            ))}
            {bars.map(({ label, title }, index) =>
              index % labelEvery === 0 ? (
                <text key={title} x={left + (index + 0.5) * slot} y={height - 6} text-anchor="middle">
                  {label}
                </text>
              ) : null
            )}
          </>
        )
      }}
    </Plot>
  )
}

export const StackedBars = (props: StackedBarsProps) => {
  const { bars, isCompact = false, series, title, unit } = props
  if (isCompact) return <Drawing {...props} />
  const hasBefore = bars.some(({ before }) => before !== undefined)
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <ul class="legend">
          {series.map(({ color, name }) => (
            <li key={name} style={colorStyle(color)}>
              {name}
            </li>
          ))}
          {hasBefore && <li class="dash">{beforeName}</li>}
        </ul>
      </figcaption>
      <Drawing {...props} />
      <details>
        <summary>Show as a table</summary>
        <Table
          caption={title}
          rows={bars}
          keyOf={(bar) => bar.title}
          columns={[
            { name: unit, isHeader: true, cell: (bar) => bar.title },
            ...series.map(({ name }, index) => ({
              name,
              isFigure: true,
              cell: (bar: Bar) => formatNumber(bar.values[index] ?? 0)
            }))
          ]}
        />
      </details>
    </figure>
  )
}
