import type { ComponentChildren, ComponentType } from "preact"
import { useEffect, useId, useRef, useState } from "preact/hooks"
import type { ApiError, Result } from "../../api/client.ts"
import { submitting, useForm } from "../../app/useForm.ts"
import { Button, type ButtonProps } from "./Button.tsx"
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

/** For a dialog that changes something of a page. */
export interface ChangeDialogProps extends Pick<DialogProps, "onClose"> {
  /** Announces what was done, and closes the dialog. */
  readonly onDone: (text: string, undo?: () => void) => void
}

/** What had the focus before each open dialog. */
const openers = new WeakMap<Element, Element | null>()

export const Dialog = ({ children, isSticky = false, onClose, title }: DialogProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const opener = useRef(document.activeElement)
  const id = useId()
  useEffect(() => {
    dialog.current?.showModal()
    // A dialog that follows another returns the focus to where the first was opened.
    const within = opener.current?.closest("dialog")
    const first = (within && openers.get(within)) ?? null
    if (dialog.current) openers.set(dialog.current, opener.current)
    const release = showInDialog(id)
    return () => {
      release()
      // Everything outside is inert until the dialog is out of the document.
      queueMicrotask(() => {
        const target = opener.current?.isConnected ? opener.current : first
        if (target instanceof HTMLElement) target.focus()
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
      onClose={() => (isSticky ? dialog.current?.showModal() : onClose())}
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

export interface DialogButtonProps extends Omit<ButtonProps, "onClick"> {
  readonly dialog: ComponentType<Pick<DialogProps, "onClose">>
}

/** A button that opens a dialog. */
export const DialogButton = ({ dialog: OpenDialog, ...button }: DialogButtonProps) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {isOpen && <OpenDialog onClose={() => setOpen(false)} />}
    </>
  )
}

export interface DialogActionsProps {
  readonly action: string
  readonly kind?: "primary" | "danger"
  readonly busy: boolean
  readonly disabled?: boolean
  readonly onClose: () => void
  /** Without it, the button submits the form around it. */
  readonly onAct?: () => void
}

export const DialogActions = ({ action, kind = "primary", onAct, onClose, ...state }: DialogActionsProps) => (
  <div class="actions">
    <Button onClick={onClose}>Cancel</Button>
    <Button kind={kind} {...(onAct ? { onClick: onAct } : { type: "submit" })} {...state}>
      {action}
    </Button>
  </div>
)

export interface ConfirmDialogProps<A> {
  readonly title: string
  readonly children: ComponentChildren
  /** The name to type first, if the action needs that. */
  readonly name?: string
  readonly action: string
  readonly request: () => Promise<Result<A>>
  readonly wordsOf?: (error: ApiError) => string
  readonly onDone: (value: A) => void
  readonly onClose: () => void
}

export const ConfirmDialog = <A,>(props: ConfirmDialogProps<A>) => {
  const { action, children, name, onClose, onDone, request, title, wordsOf = ({ message }) => message } = props
  const { busy, error, run } = useForm()
  const [typed, setTyped] = useState("")
  const isConfirmed = name === undefined || typed.trim() === name
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submitting(() => isConfirmed && run(request, onDone))}>
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
        {error && <Notice text={wordsOf(error)} />}
        <DialogActions action={action} kind="danger" busy={busy} disabled={!isConfirmed} onClose={onClose} />
      </form>
    </Dialog>
  )
}
