/** The most parameters of a query string or a form (R70). */
export const maxParameters = 64

/** Returns true if a query string or form has more than `maxParameters`. It decodes nothing, and stops at the first one too many. */
export const hasTooManyParameters = (text: string): boolean => {
  let count = 0
  for (let start = 0; start < text.length; ) {
    const separator = text.indexOf("&", start)
    const end = separator < 0 ? text.length : separator
    if (end > start && ++count > maxParameters) return true
    start = end + 1
  }
  return false
}
