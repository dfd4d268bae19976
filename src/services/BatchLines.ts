import { Effect, Latch } from "effect"
import type { BulkLineBody } from "../domain/BulkResult.ts"

/**
 * The lines of a streamed batch on their way from the rows to the one reader, which writes them to a connection. A batch
 * has at most 52, so that their number needs no limit.
 */
export class BatchLines {
  private lines: Array<BulkLineBody> = []
  private readonly isFilled = Latch.makeUnsafe(false)
  private readonly isReaderWaiting = Latch.makeUnsafe(false)
  private hasEnded = false
  private isAbandoned = false

  /**
   * Waits until the reader has written all lines and asks for more. A row starts after it, so that nothing starts while
   * the connection is full. It does not wait once the reader has left.
   */
  readonly room: Effect.Effect<void> = this.isReaderWaiting.await

  private closeRoom(): void {
    if (!this.isAbandoned) this.isReaderWaiting.closeUnsafe()
  }

  add(line: BulkLineBody): void {
    this.lines.push(line)
    this.closeRoom()
    this.isFilled.openUnsafe()
  }

  /** No further line comes. */
  end(): void {
    this.hasEnded = true
    this.isFilled.openUnsafe()
  }

  /** The reader has left. */
  abandon(): void {
    this.isAbandoned = true
    this.isReaderWaiting.openUnsafe()
  }

  /** Waits for lines and takes all that are there. None means that the batch has ended. */
  readonly take: Effect.Effect<ReadonlyArray<BulkLineBody>> = Effect.suspend(() => {
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
