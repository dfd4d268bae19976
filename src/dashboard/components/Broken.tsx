import type { ComponentChildren } from "preact"
import { Button } from "./ui/Button.tsx"
import { PageHeader } from "./ui/PageHeader.tsx"
import { EmptyState } from "./ui/States.tsx"

export interface BrokenProps {
  readonly title: string
  readonly children: ComponentChildren
}

export const Broken = ({ children, title }: BrokenProps) => (
  <>
    <PageHeader title="Not available" />
    <EmptyState title={title} action={<Button onClick={() => location.reload()}>Reload</Button>}>
      {children}
    </EmptyState>
  </>
)
