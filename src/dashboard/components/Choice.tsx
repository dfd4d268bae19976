import { useId } from "preact/hooks"

export interface ChoiceProps {
  /** The question that the options answer, for screen readers. */
  readonly legend: string
  readonly value: string
  readonly options: ReadonlyArray<{ readonly value: string; readonly text: string }>
  readonly onChange: (value: string) => void
}

/** One of a few options side by side: radio buttons of the browser, so that arrow keys move between them. */
export const Choice = ({ legend, onChange, options, value }: ChoiceProps) => {
  const name = useId()
  return (
    <fieldset class="choice">
      <legend class="hidden">{legend}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span>{option.text}</span>
        </label>
      ))}
    </fieldset>
  )
}
