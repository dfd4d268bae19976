export interface Spark {
  /** Oldest first; the last is today's. */
  readonly values: ReadonlyArray<number>
  readonly text: string
}

const [width, height] = [96, 28]

const Sparkline = ({ text, values }: Spark) => {
  const max = Math.max(...values, Number.MIN_VALUE)
  const x = (index: number): number => 2 + (index * (width - 4)) / Math.max(1, values.length - 1)
  const y = (value: number): number => 2 + (1 - value / max) * (height - 4)
  return (
    <svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={text}>
      <polyline points={values.map((value, index) => `${x(index)},${y(value)}`).join(" ")} />
      <circle cx={x(values.length - 1)} cy={y(values.at(-1) ?? 0)} r="2.5" />
    </svg>
  )
}

export interface StatProps {
  readonly spark?: Spark | undefined
  /** Marks a figure that is worse than usual. */
  readonly isBad?: boolean
  readonly name: string
  readonly value: string
  readonly note?: string | undefined
}

/** Use inside `<dl class="stats">`. */
export const Stat = ({ isBad = false, name, note, spark, value }: StatProps) => (
  <div class={isBad ? "stat bad" : "stat"}>
    <dt>{name}</dt>
    <dd>
      <strong translate={false}>{value}</strong>
      {note && <span key={note}>{note}</span>}
      {spark && spark.values.length > 1 && <Sparkline {...spark} />}
    </dd>
  </div>
)
