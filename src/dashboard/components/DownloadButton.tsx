import { Button } from "./Button.tsx"

export interface DownloadButtonProps {
  readonly text: string
  readonly fileName: string
  /** The content of the file. It is made when somebody asks for it. */
  readonly content: () => string
  readonly type: string
  readonly disabled?: boolean
}

/** The browser reads the file right after the click. Until then its address must stay good. */
const keptMs = 10_000

/** Saves a file that the browser makes itself. */
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
