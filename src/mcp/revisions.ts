/** Protocol revisions: ISO dates, which compare as text. */

export const currentRevision = "2026-07-28"

export const earlierRevisions: ReadonlyArray<string> = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07"
]

export const revisions: ReadonlyArray<string> = [currentRevision, ...earlierRevisions]

export const firstWithoutBatches = "2025-06-18"
