/** A month of the query log, which is dropped as a whole. */
export interface LogMonth {
  /** `2026-08`, in UTC. */
  readonly name: string
  /** Unix milliseconds at which the next month starts. */
  readonly end: number
  /** Size on disk with its indexes. */
  readonly bytes: number
  /** The database's estimate; undefined before its first one. */
  readonly searches: number | undefined
}

/** The retention of a deployment where nobody has set one. */
export const defaultRetentionMs = 90 * 86_400_000

/** The moment from which the server drops the month: its last entry is older than the retention then. */
export const droppedAt = ({ end }: Pick<LogMonth, "end">, retentionMs: number): number => end + retentionMs
