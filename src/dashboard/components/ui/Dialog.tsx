import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef, useState } from "preact/hooks"
import { Button } from "./Button.tsx"
import { Field } from "./Field.tsx"
import { Icon } from "./Icon.tsx"
import { Notice } from "./Notice.tsx"
import { showInDialog, Toasts } from "./Toast.tsx"

export interface DialogProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly onClose: () => void
  readonly isSticky?: boolean
}

export const Dialog = ({ children, isSticky = false, onClose, title }: DialogProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const opener = useRef(document.activeElement)
  const id = useId()
  useEffect(() => {
    dialog.current?.showModal()
    const release = showInDialog(id)
    return () => {
      release()
      // Everything outside is inert until the dialog is out of the document.
      const { current } = opener
      queueMicrotask(() => {
        if (current instanceof HTMLElement) current.focus()
      })
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (!isSticky) onClose()
      }}
      // Browsers close a dialog on the second Escape in a row even if `cancel` was prevented.
      onClose={onClose}
    >
      <header>
        <h2 id={id}>{title}</h2>
        {!isSticky && (
          <Button kind="quiet" small label="Close" onClick={onClose}>
            <Icon name="close" />
          </Button>
        )}
      </header>
      {children}
      <Toasts within={id} />
    </dialog>
  )
}

export interface ConfirmDialogProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly name?: string | undefined
  readonly action: string
  readonly busy: boolean
  readonly error?: string | undefined
  readonly onConfirm: () => void
  readonly onClose: () => void
}

export const ConfirmDialog = (props: ConfirmDialogProps) => {
  const { action, busy, children, error, name, onClose, onConfirm, title } = props
  const [typed, setTyped] = useState("")
  const isConfirmed = name === undefined || typed.trim() === name
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (isConfirmed && !busy) onConfirm()
        }}
      >
        <div class="prose">{children}</div>
        {name !== undefined && (
          <Field
            label={`Type ${name} to confirm`}
            name="confirmation"
            value={typed}
            onInput={setTyped}
            input={{ autocomplete: "off", spellcheck: false, required: true }}
          />
        )}
        {error && <Notice text={error} />}
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" type="submit" busy={busy} disabled={!isConfirmed}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
