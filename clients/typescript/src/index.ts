export type * from "./api.ts"
export type { CallOptions, Clock } from "./Call.ts"
export {
  type Batch,
  createQuarry,
  type PageBatch,
  type Quarry,
  type QuarryOptions,
  type SearchInput
} from "./client.ts"
export { type CallFacts, isQuarryError, type LocalError, type QuarryError } from "./errors.ts"
export type { Meta } from "./meta.ts"
