export interface ChartTipProps {
  readonly title: string
  readonly share: number
  readonly rows: ReadonlyArray<{ readonly name: string; readonly colour: string; readonly value: string }>
}

export const ChartTip = ({ rows, share, title }: ChartTipProps) => (
  <div class={share > 0.5 ? "tip end" : "tip"} style={{ left: `${share * 100}%` }} role="status">
    <strong>{title}</strong>
    <ul class="legend">
      {rows.map(({ colour, name, value }) => (
        <li key={name} class={`key-${colour}`}>
          {name} <b>{value}</b>
        </li>
      ))}
    </ul>
  </div>
)
