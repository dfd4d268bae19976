import { useState } from "preact/hooks"
import { Button } from "./Button.tsx"
import { Icon } from "./Icon.tsx"
import { announce } from "./Toast.tsx"

export interface CopyButtonProps {
  readonly text: string
  /** The thing that is copied, as part of a sentence: "the key". */
  readonly what: string
  /** Shows a word beside the icon. */
  readonly isLabelled?: boolean
}

const copiedMs = 2_000

export const CopyButton = ({ isLabelled = false, text, what }: CopyButtonProps) => {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
      announce(`Copied ${what}.`)
      setTimeout(() => setCopied(false), copiedMs)
    } catch {
      announce(`Your browser did not let us copy ${what}. Select it and copy it by hand.`)
    }
  }
  return (
    <Button small kind={isLabelled ? "plain" : "quiet"} label={`Copy ${what}`} onClick={() => void copy()}>
      <Icon name={isCopied ? "tick" : "copy"} />
      {isLabelled && (isCopied ? "Copied" : "Copy")}
    </Button>
  )
}
