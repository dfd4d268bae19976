import { useId } from "preact/hooks"
import { linesOf } from "../../credits/axis.ts"
import { formatCompact, formatNumber } from "../../format.ts"
import { Table } from "../ui/Table.tsx"
import { ChartTip } from "./ChartTip.tsx"
import { usePoint } from "./usePoint.ts"
import { useWidth } from "./useWidth.ts"

export interface Series {
  readonly name: string
  /** A color in style.css: `ok`, `bad`, `slow`, or one of `c1` to `c8`. */
  readonly colour: string
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

const left = 44
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
      {series.map(({ colour, name }, index) => {
        const height = (bar.values[index] ?? 0) * scale
        y -= height
        return height === 0 ? null : (
          <rect key={name} class={`fill-${colour}`} x={x} y={y} width={barWidth} height={height} />
        )
      })}
    </g>
  )
}

export const Legend = ({ series }: { readonly series: ReadonlyArray<Series> }) => (
  <ul class="legend">
    {series.map(({ colour, name }) => (
      <li key={name} class={`key-${colour}`}>
        {name}
      </li>
    ))}
  </ul>
)

interface GridProps {
  readonly lines: ReadonlyArray<number>
  readonly plot: number
  readonly width: number
}

const Grid = ({ lines, plot, width }: GridProps) => (
  <>
    {lines.map((value, index) => {
      const y = top + plot - (index * plot) / (lines.length - 1)
      return (
        <g key={value}>
          <line class="grid" x1={left} x2={width} y1={y} y2={y} />
          <text x={left - 8} y={y + 4} text-anchor="end">
            {formatCompact(value)}
          </text>
        </g>
      )
    })}
  </>
)

const Drawing = ({ bars, description, height = 220, series, title }: StackedBarsProps) => {
  const id = useId()
  const [svg, width] = useWidth<SVGSVGElement>()
  const lines = linesOf(Math.max(1, ...bars.map(({ values }) => sum(values))))
  const plot = height - top - bottom
  const slot = (width - left) / Math.max(1, bars.length)
  const labelEvery = Math.max(1, Math.ceil(labelWidth / slot))
  const { active, handlers } = usePoint(bars.length, bars.length - 1, (x) => Math.floor((x - left) / slot))
  const bar = active === undefined ? undefined : bars[active]
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
        <title id={`${id}-t`}>{title}</title>
        <desc id={`${id}-d`}>{`${description}. The table below has the same data.`}</desc>
        <Grid plot={plot} lines={lines} width={width} />
        {active !== undefined && <rect class="cursor" x={left + active * slot} y={top} width={slot} height={plot} />}
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
      </svg>
      {bar && active !== undefined && (
        <ChartTip
          title={bar.title}
          share={(left + (active + 0.5) * slot) / width}
          rows={series.map(({ colour, name }, index) => ({
            colour,
            name,
            value: formatNumber(bar.values[index] ?? 0)
          }))}
        />
      )}
    </div>
  )
}

export const StackedBars = (props: StackedBarsProps) => {
  const { bars, series, title, unit } = props
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <Legend series={series} />
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
