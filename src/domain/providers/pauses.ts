import { namesOf } from "./providerNames.ts"

/** `engine` is undefined for all engines of the provider. */
export interface PausedProvider {
  readonly provider: string
  readonly engine?: string | undefined
}

/** `name` may contain the engine, as in `meta/google`. */
export const isPausedBy = (pauses: ReadonlyArray<PausedProvider>, { name }: { readonly name: string }): boolean => {
  const own = namesOf({ name })
  return pauses.some(
    ({ engine, provider }) => provider === own.provider && (engine === undefined || engine === own.engine)
  )
}
