/** The object URL must stay valid until the browser has read the file after the click. */
const keptMs = 10_000

export const saveCsv = (fileName: string, text: string): void => {
  const href = URL.createObjectURL(new Blob([text], { type: "text/csv" }))
  const link = document.createElement("a")
  link.href = href
  link.download = fileName
  link.click()
  setTimeout(() => URL.revokeObjectURL(href), keptMs)
}
