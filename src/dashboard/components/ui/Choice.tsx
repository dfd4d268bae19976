import { useId } from "preact/hooks"

export interface ChoiceProps {
  readonly legend: string
  readonly value: string
  readonly options: ReadonlyArray<{ readonly value: string; readonly text: string }>
  readonly onChange: (value: string) => void
}

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
