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

export const DownloadButton = ({ content, disabled = false, fileName, text, type }: DownloadButtonProps) => {
  const save = (): void => {
    const href = URL.createObjectURL(new Blob([content()], { type }))
    Object.assign(document.createElement("a"), { href, download: fileName }).click()
    setTimeout(() => URL.revokeObjectURL(href), keptMs)
  }
  return (
    <Button disabled={disabled} onClick={save}>
      {text}
    </Button>
  )
}
