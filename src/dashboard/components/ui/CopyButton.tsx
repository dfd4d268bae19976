import { useState } from "preact/hooks"
import { Button } from "./Button.tsx"
import { Icon } from "./Icon.tsx"
import { announce } from "./Toast.tsx"

export interface CopyButtonProps {
  readonly text: string
  /** The object of the sentence "Copied …", such as "the key". */
  readonly what: string
  readonly isLabeled?: boolean
}

const copiedMs = 2_000

export const CopyButton = ({ isLabeled = false, text, what }: CopyButtonProps) => {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
      announce(`Copied ${what}.`)
      setTimeout(() => setCopied(false), copiedMs)
    } catch {
      announce(`Your browser did not allow copying ${what}. Select the text and copy it yourself.`)
    }
  }
  return (
    <Button small kind={isLabeled ? "plain" : "quiet"} label={`Copy ${what}`} onClick={() => void copy()}>
      <Icon name={isCopied ? "tick" : "copy"} />
      {isLabeled && (isCopied ? "Copied" : "Copy")}
    </Button>
  )
}
