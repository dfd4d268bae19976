/** An endpoint of the sign-in library, without its router. */
export type Handler = (context: { readonly body?: unknown; readonly query?: unknown }) => Promise<unknown>
