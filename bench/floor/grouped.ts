/**
 * Sends what arrives together in one statement: entries that arrive while one is on the wire form the next, as in
 * `src/layers/sql/GroupCommit.ts`.
 */
export const grouped = <Entry, Answer>(
  maxBatch: number,
  send: (batch: ReadonlyArray<Entry>) => Promise<ReadonlyArray<Answer>>
): ((entry: Entry) => Promise<Answer>) => {
  const waiting: Array<{ readonly entry: Entry; readonly end: (answer: Answer) => void }> = []
  let sending = false
  // A statement that fails ends the process: a floor under load that is not served measures nothing.
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
