/** A month of the query log, which is dropped as a whole. */
export interface LogMonth {
  /** In UTC, such as `2026-08`. */
  readonly name: string
  readonly end: number
  readonly bytes: number
  /** The database's estimate; undefined until it has made one. */
  readonly searches: number | undefined
}

export const defaultRetentionMs = 90 * 86_400_000

/** The time at which the server drops the month, because its last entry exceeds the retention. */
export const droppedAt = ({ end }: Pick<LogMonth, "end">, retentionMs: number): number => end + retentionMs
