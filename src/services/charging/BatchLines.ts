import { Effect, Latch } from "effect"
import type { BatchLineBody } from "../../domain/search/BulkResult.ts"

/** For one reader. A batch has at most 52 lines, so the buffer needs no limit. */
export class BatchLines<Row> {
  private lines: Array<BatchLineBody<Row>> = []
  private readonly isFilled = Latch.makeUnsafe(false)
  private readonly isReaderWaiting = Latch.makeUnsafe(false)
  private hasEnded = false
  private isAbandoned = false

  /**
   * Waits until the reader has written all lines and asks for more, so that no row starts while the connection is full.
   * Does not wait after the reader has left.
   */
  readonly room: Effect.Effect<void> = this.isReaderWaiting.await

  private closeRoom(): void {
    if (!this.isAbandoned) this.isReaderWaiting.closeUnsafe()
  }

  add(line: BatchLineBody<Row>): void {
    this.lines.push(line)
    this.closeRoom()
    this.isFilled.openUnsafe()
  }

  end(): void {
    this.hasEnded = true
    this.isFilled.openUnsafe()
  }

  abandon(): void {
    this.isAbandoned = true
    this.isReaderWaiting.openUnsafe()
  }

  /** Waits for lines and returns all available ones; none at the end of the batch. */
  readonly take: Effect.Effect<ReadonlyArray<BatchLineBody<Row>>> = Effect.suspend(() => {
    if (this.lines.length === 0 && !this.hasEnded) this.isReaderWaiting.openUnsafe()
    return this.isFilled.await.pipe(
      Effect.onInterrupt(() => Effect.sync(() => this.closeRoom())),
      Effect.map(() => {
        const lines = this.lines
        this.lines = []
        if (!this.hasEnded) this.isFilled.closeUnsafe()
        return lines
      })
    )
  })
}
