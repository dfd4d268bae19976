import type { ParsedPage, ParseFailureReason } from "../../domain/pages/Page.ts"

export interface ParseJob {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly contentType: string | undefined
  readonly url: string
}

export type ParseReply =
  | { readonly page: ParsedPage }
  | { readonly reason: ParseFailureReason; readonly problem?: string }

/** `cpuMs` is the CPU time of the thread since it started. */
export interface ThreadMessage {
  readonly cpuMs: number
  /** Memory that the thread's heap has reserved. */
  readonly heapBytes: number
  /** Undefined once, when the thread is ready. */
  readonly reply: ParseReply | undefined
}
