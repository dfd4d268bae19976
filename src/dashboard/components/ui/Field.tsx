import type { ComponentChildren, InputHTMLAttributes, TargetedInputEvent } from "preact"
import { useId } from "preact/hooks"

interface FrameProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
  /** For a control that says itself what it is. */
  readonly isLabelHidden?: boolean
}

interface ControlIds {
  readonly id: string
  readonly describedBy: string | undefined
}

export const FieldFrame = ({
  children,
  error,
  hint,
  isLabelHidden,
  label
}: FrameProps & { readonly children: (ids: ControlIds) => ComponentChildren }) => {
  const id = useId()
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ")
  return (
    <div class="field">
      <label for={id} class={isLabelHidden ? "hidden" : undefined}>
        {label}
      </label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {children({ id, describedBy: described || undefined })}
      {error && (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  )
}

export interface FieldProps extends FrameProps {
  readonly name: string
  readonly type?: "text" | "email" | "password" | "search" | "number" | "date" | "datetime-local"
  readonly value?: string | number | undefined
  readonly onInput?: (value: string) => void
  readonly input?: Omit<InputHTMLAttributes, "type" | "value">
}

export const Field = ({
  error,
  hint,
  input,
  isLabelHidden,
  label,
  name,
  onInput,
  type = "text",
  value
}: FieldProps) => (
  <FieldFrame label={label} hint={hint} error={error} isLabelHidden={isLabelHidden ?? false}>
    {({ describedBy, id }) => {
      // Preact's input attributes are a union by literal `type`; a variable `type` matches no member.
      const attributes = { ...input, type, value } as InputHTMLAttributes
      return (
        <input
          {...attributes}
          id={id}
          name={name}
          aria-describedby={describedBy}
          aria-invalid={error ? true : undefined}
          onInput={(event: TargetedInputEvent<HTMLInputElement>) => onInput?.(event.currentTarget.value)}
        />
      )
    }}
  </FieldFrame>
)

export interface Option {
  readonly value: string
  readonly text: string
  readonly disabled?: boolean
}

/** Adds an unknown value from the URL to the options, so the form always shows what it sends. */
export const including = (options: ReadonlyArray<Option>, value: string): ReadonlyArray<Option> =>
  options.some((option) => option.value === value) ? options : [...options, { value, text: value || "(empty)" }]

export interface SelectFieldProps extends FrameProps {
  readonly name?: string
  readonly value: string
  readonly options: ReadonlyArray<Option>
  readonly disabled?: boolean
  readonly onChange?: (value: string) => void
}

export const SelectField = ({
  disabled = false,
  error,
  hint,
  isLabelHidden,
  label,
  name,
  onChange,
  options,
  value
}: SelectFieldProps) => (
  <FieldFrame label={label} hint={hint} error={error} isLabelHidden={isLabelHidden ?? false}>
    {({ describedBy, id }) => (
      <select
        id={id}
        name={name}
        value={value}
        disabled={disabled}
        aria-describedby={describedBy}
        aria-invalid={error ? true : undefined}
        onChange={(event) => onChange?.(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.disabled ?? false}>
            {option.text}
          </option>
        ))}
      </select>
    )}
  </FieldFrame>
)
