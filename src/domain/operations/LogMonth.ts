export interface LogMonth {
  /** In UTC, such as `2026-08`. */
  readonly name: string
  readonly end: number
  readonly bytes: number
  /** The database's estimate; undefined before the first. */
  readonly searches: number | undefined
}

export const defaultRetentionMs = 90 * 86_400_000

export const droppedAt = ({ end }: Pick<LogMonth, "end">, retentionMs: number): number => end + retentionMs
