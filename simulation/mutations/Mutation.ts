/** A mistake that an engineer could make: one text of the sources, and what it becomes. */
export interface Mutation {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
}
