import type { ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { visit } from "../../app/router.ts"

export interface PageHeaderProps {
  readonly title: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
}

/** Takes the focus after a page change, as a new document would, unless a field on the page takes it. */
export const PageHeader = ({ actions, lead, title }: PageHeaderProps) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Quarry`
    const field = document.querySelector<HTMLElement>("main [autofocus]")
    if (field !== null) return field.focus()
    if (visit.peek() === 0) return
    heading.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [title])
  return (
    <header class="page-header">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {lead && <p class="lead">{lead}</p>}
      </div>
      {actions && <div class="actions">{actions}</div>}
    </header>
  )
}
