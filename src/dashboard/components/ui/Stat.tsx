export interface StatProps {
  readonly name: string
  readonly value: string
  readonly note?: string | undefined
}

/** Use inside `<dl class="stats">`. */
export const Stat = ({ name, note, value }: StatProps) => (
  <div class="stat">
    <dt>{name}</dt>
    <dd>
      <strong>{value}</strong>
      {note && <span>{note}</span>}
    </dd>
  </div>
)
