import { linesOf } from "../../credits/axis.ts"
import { formatNumber } from "../../format.ts"
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
}

export interface StackedBarsProps {
  readonly title: string
  readonly description: string
  readonly series: ReadonlyArray<Series>
  readonly bars: ReadonlyArray<Bar>
  readonly unit: string
  readonly height?: number
}

const bottom = 22
const top = 8
const labelWidth = 64
const maxBarWidth = 44

const sum = (values: ReadonlyArray<number>): number => values.reduce((all, value) => all + value, 0)

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
    <g>
      {series.map(({ color, name }, index) => {
        const height = (bar.values[index] ?? 0) * scale
        y -= height
        return height === 0 ? null : (
          <rect key={name} class="part" style={colorStyle(color)} x={x} y={y} width={barWidth} height={height} />
        )
      })}
    </g>
  )
}

const Drawing = ({ bars, description, height = 220, series, title }: StackedBarsProps) => {
  const lines = linesOf(Math.max(1, ...bars.map(({ values }) => sum(values))))
  const plot = height - top - bottom
  const slotIn = (width: number): number => (width - left) / Math.max(1, bars.length)
  return (
    <Plot
      title={title}
      description={`${description}. The table below has the same data.`}
      height={height}
      items={bars}
      indexAt={(x, width) => Math.floor((x - left) / slotIn(width))}
      tip={(bar, index, width) => ({
        title: bar.title,
        share: (left + (index + 0.5) * slotIn(width)) / width,
        rows: series.map(({ color, name }, index) => ({
          color,
          name,
          value: formatNumber(bar.values[index] ?? 0)
        }))
      })}
    >
      {(width, active) => {
        const slot = slotIn(width)
        const labelEvery = Math.max(1, Math.ceil(labelWidth / slot))
        return (
          <>
            {lines.map((value, index) => (
              <GridLine key={value} y={top + plot - (index * plot) / (lines.length - 1)} right={width} value={value} />
            ))}
            {active !== undefined && (
              <rect class="cursor" x={left + active * slot} y={top} width={slot} height={plot} />
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
  const { bars, series, title, unit } = props
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
