/** The context of a field, on which the meaning of an absent value depends (R17). */
export type Place = "search" | "body" | "row"

export type Described<A> = { readonly description: string; readonly default?: A }

/**
 * Describes a field and its default. Only single searches declare a fixed `default`: generated clients send it, and in
 * a row it would override the body's value.
 */
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
