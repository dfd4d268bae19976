/** A mistake that an engineer could make: a text in the sources, and its replacement. */
export interface Mutation {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
}

/** A mistake that a test file of `npm test` must find. */
export interface TestedMutation extends Mutation {
  /** Relative to the repository. */
  readonly test: string
}
