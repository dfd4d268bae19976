/**
 * Sends concurrent entries in one statement: entries that arrive while a statement is in flight form the next one, like
 * `src/layers/sql/GroupCommit.ts`.
 */
export const grouped = <Entry, Answer>(
  maxBatch: number,
  send: (batch: ReadonlyArray<Entry>) => Promise<ReadonlyArray<Answer>>
): ((entry: Entry) => Promise<Answer>) => {
  const waiting: Array<{ readonly entry: Entry; readonly end: (answer: Answer) => void }> = []
  let sending = false
  // A failed statement ends the process, because a floor that fails requests measures nothing.
  const drain = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxBatch)
      const answers = await send(batch.map(({ entry }) => entry))
      for (const [index, answer] of answers.entries()) batch[index]?.end(answer)
    }
    sending = false
  }
  return (entry) =>
    new Promise((end) => {
      waiting.push({ entry, end })
      if (sending) return
      sending = true
      setImmediate(drain)
    })
}
