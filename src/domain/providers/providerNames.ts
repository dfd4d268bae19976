/** Separates the providers of merged results in names. */
export const fusedNames = " + "

/** Splits the name of a provider with an engine, such as `meta/google`. */
export const namesOf = ({
  name
}: {
  readonly name: string
}): { readonly provider: string; readonly engine: string | null } => {
  if (name.includes(fusedNames)) return { provider: name, engine: null }
  const [provider = "", ...engine] = name.split("/")
  return { provider, engine: engine.length === 0 ? null : engine.join("/") }
}
