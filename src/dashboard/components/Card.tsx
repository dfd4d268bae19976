import type { ComponentChildren } from "preact"

export interface CardProps {
  readonly title: string
  readonly children: ComponentChildren
  /** A link or a button at the end of the heading. */
  readonly action?: ComponentChildren
  /** Takes the whole width of a grid. */
  readonly isWide?: boolean
}

/** A part of a page under a heading of its own. It is no landmark: a page with one for each card would have too many. */
export const Card = ({ action, children, isWide = false, title }: CardProps) => (
  <section class={`card${isWide ? " wide" : ""}`}>
    <header>
      <h2>{title}</h2>
      {action}
    </header>
    {children}
  </section>
)
