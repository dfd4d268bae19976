import type { ComponentChildren } from "preact"

export interface ToggleProps {
  readonly children: ComponentChildren
  readonly isOn: boolean
  readonly disabled?: boolean
  readonly onChange: (isOn: boolean) => void
}

export const Toggle = ({ children, disabled = false, isOn, onChange }: ToggleProps) => (
  <button type="button" class="button toggle" aria-pressed={isOn} disabled={disabled} onClick={() => onChange(!isOn)}>
    <span class="dot" aria-hidden="true" />
    {children}
  </button>
)
