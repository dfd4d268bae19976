/** The object URL must stay valid until the browser has read the file after the click. */
const keptMs = 10_000

/** Without it, Excel reads the file in the code page of Windows. */
const byteOrderMark = "\ufeff"

export const saveFile = (fileName: string, text: string, type: string): void => {
  const href = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement("a")
  link.href = href
  link.download = fileName
  link.click()
  setTimeout(() => URL.revokeObjectURL(href), keptMs)
}

export const saveCsv = (fileName: string, text: string): void => saveFile(fileName, byteOrderMark + text, "text/csv")
