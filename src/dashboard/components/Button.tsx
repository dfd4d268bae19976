import type { ComponentChildren } from "preact"

export interface ButtonProps {
  readonly children: ComponentChildren
  /** `primary` once on a page or dialog; `danger` for what cannot be undone. */
  readonly kind?: "primary" | "plain" | "quiet" | "danger"
  readonly type?: "button" | "submit"
  /** Shows that the action runs, and prevents a second one. */
  readonly busy?: boolean
  readonly disabled?: boolean
  /** The accessible name, where the content is an icon alone. */
  readonly label?: string
  readonly small?: boolean
  readonly onClick?: () => void
}

/** A busy button stays focusable, so that the focus is not lost while it works. */
export const Button = ({
  busy = false,
  children,
  disabled = false,
  kind = "plain",
  label,
  onClick,
  small = false,
  type = "button"
}: ButtonProps) => (
  <button
    type={type}
    class={`button ${kind}${small ? " small" : ""}`}
    disabled={disabled}
    aria-disabled={busy || undefined}
    aria-busy={busy || undefined}
    aria-label={label}
    onClick={(event) => {
      if (busy) event.preventDefault()
      else onClick?.()
    }}
  >
    {children}
  </button>
)
