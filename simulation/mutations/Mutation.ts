/** A mistake that an engineer could make: a text in the sources, and its replacement. */
export interface Mutation {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
  /** The test file of `npm test` that finds it, relative to the repository. Undefined if only a program finds it. */
  readonly test?: string
}

export interface TestedMutation extends Mutation {
  readonly test: string
}
