import type { ComponentChildren } from "preact"

export interface ButtonProps {
  readonly children: ComponentChildren
  /** Use `primary` once per page or dialog, and `danger` for actions that cannot be undone. */
  readonly kind?: "primary" | "plain" | "quiet" | "danger"
  readonly type?: "button" | "submit"
  readonly busy?: boolean
  readonly disabled?: boolean
  readonly label?: string
  readonly small?: boolean
  readonly onClick?: () => void
}

export interface ButtonLinkProps {
  readonly href: string
  readonly text: string
  readonly kind?: "primary" | "plain"
}

export const ButtonLink = ({ href, kind = "plain", text }: ButtonLinkProps) => (
  <a class={`button ${kind}`} href={href}>
    {text}
  </a>
)

/** A busy button ignores clicks but stays focusable, so the focus is not lost. */
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
