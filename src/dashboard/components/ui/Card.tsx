import type { ComponentChildren } from "preact"

export interface CardProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly action?: ComponentChildren
  readonly isWide?: boolean
}

/** A section with a heading. It has no accessible name on purpose: that would make every card a landmark. */
export const Card = ({ action, children, isWide = false, title }: CardProps) => (
  <section class={`card${isWide ? " wide" : ""}`}>
    <header>
      <h2>{title}</h2>
      {action}
    </header>
    {children}
  </section>
)
