import type { ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { Button } from "../ui/Button.tsx"
import { CopyButton } from "../ui/CopyButton.tsx"
import { FieldFrame } from "../ui/Field.tsx"

export interface SecretOnceProps {
  readonly secret: string
  readonly reason: string
  readonly children?: ComponentChildren
  readonly onClose: () => void
}

/** The secret is kept only while the dialog is open. */
export const SecretOnce = ({ children, onClose, reason, secret }: SecretOnceProps) => {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.select(), [])
  return (
    <div class="stack">
      <p>
        <strong>Copy the secret now.</strong> {reason}
      </p>
      <FieldFrame label="Secret">
        {({ id }) => (
          <div class="secret">
            <input ref={input} id={id} value={secret} readOnly spellcheck={false} autocomplete="off" />
            <CopyButton isLabeled text={secret} what="the secret" />
          </div>
        )}
      </FieldFrame>
      {children}
      <div class="actions">
        <Button kind="primary" onClick={onClose}>
          I have saved it
        </Button>
      </div>
    </div>
  )
}
