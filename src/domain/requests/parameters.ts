export const maxParameters = 64

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
