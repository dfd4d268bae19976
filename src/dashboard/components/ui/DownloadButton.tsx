import { Button } from "./Button.tsx"

export interface DownloadButtonProps {
  readonly text: string
  readonly fileName: string
  readonly content: () => string
  readonly type: string
  readonly disabled?: boolean
}

/** The object URL must stay valid until the browser has read the file after the click. */
const keptMs = 10_000

export const saveFile = ({
  fileName,
  text,
  type
}: {
  readonly fileName: string
  readonly text: string
  readonly type: string
}): void => {
  const href = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement("a")
  link.href = href
  link.download = fileName
  link.click()
  setTimeout(() => URL.revokeObjectURL(href), keptMs)
}

export const DownloadButton = ({ content, disabled = false, fileName, text, type }: DownloadButtonProps) => (
  <Button disabled={disabled} onClick={() => saveFile({ fileName, text: content(), type })}>
    {text}
  </Button>
)
