/** The context of a field. The meaning of an absent value depends on it (R17). */
export type Place = "search" | "body" | "row"

export type Described<A> = { readonly description: string; readonly default?: A }

/** Only single searches declare `default`: generated clients send it, and a row's would override the body's value. */
export const described = <const A extends string | number = never>(
  place: Place,
  text: string,
  fallback?: A
): Described<A> => {
  if (place === "search")
    return fallback === undefined ? { description: text } : { description: text, default: fallback }
  if (place === "body") return { description: fallback === undefined ? text : `${text} When absent, ${fallback}.` }
  return { description: `${text} When absent, the body's${fallback === undefined ? "" : `, else ${fallback}`}.` }
}
